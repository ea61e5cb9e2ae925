/** The rooms, but for proof, whose tests are long. */
import { group } from '../help/group.ts'

await group('src/!(proof)/*.test.ts')
