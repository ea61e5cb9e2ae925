/** The contract: requests and representations. */
import { group } from '../help/group.ts'

await group('test/spec/[126]*-*.test.ts')
