/** The contract: operations, their keys and conditions. */
import { group } from '../help/group.ts'

await group('test/spec/4-[a-i]*.test.ts')
