/** The contract: access, caching and errors. */
import { group } from '../help/group.ts'

await group('test/spec/5-!(memory)*.test.ts', 'test/spec/7-*.test.ts')
