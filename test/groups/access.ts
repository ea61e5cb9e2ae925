/** The contract: access, caching and errors. */
import { group } from '../help/group.ts'

await group('test/spec/[57]-*.test.ts')
