/** The store: rows and their changes. */
import { group } from '../help/group.ts'

await group('test/store/[a-k]*.test.ts')
