/** The contract: requests and representations. */
import { group } from '../help/group.ts'

await group('test/spec/{1,2,14}-*.test.ts')
