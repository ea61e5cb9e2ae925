/** The store: changes of a declaration. */
import { group } from '../help/group.ts'

await group('test/store/[l-z]*.test.ts')
