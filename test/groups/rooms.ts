/** All rooms except proof, whose tests take long. */
import { group } from '../help/group.ts'

await group('src/**/*.test.ts')
