/** The store: rows, and what becomes of them. */
import { group } from '../help/group.ts'

await group('test/store/[adef]*.test.ts', 'test/store/co*.test.ts', 'test/store/credentials.test.ts')
