/** The contract: lists. */
import { group } from '../help/group.ts'

await group('test/spec/3-*.test.ts')
