/** The store: rows and their changes. */
import { group } from '../help/group.ts'

await group('test/store/[adef]*.test.ts', 'test/store/co*.test.ts', 'test/store/credentials.test.ts')
