/** The checks of the source text, and the tests that read files without running them. */
import { group } from '../help/group.ts'

await group('test/*.test.ts', 'test/{corpus,describe,seams,torture}/*.test.ts')
