/** The contract: versions. */
import { group } from '../help/group.ts'

await group('test/spec/9-*.test.ts')
