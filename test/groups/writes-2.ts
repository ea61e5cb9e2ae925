/** The contract: operations, their paths and methods. */
import { group } from '../help/group.ts'

await group('test/spec/4-identify.test.ts', 'test/spec/4-[j-t]*.test.ts')
