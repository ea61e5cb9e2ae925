/** The contract: operations, their paths and methods. */
import { group } from '../help/group.ts'

await group('test/spec/4-[j-z]*.test.ts')
