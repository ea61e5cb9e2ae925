/** The contract: operations, their keys and conditions. */
import { group } from '../help/group.ts'

await group(
  'test/spec/4-c[ah]*.test.ts',
  'test/spec/4-conditional.test.ts',
  'test/spec/4-create.test.ts',
  'test/spec/4-d*.test.ts',
  'test/spec/4-idempotency{,-re*,-wait}.test.ts',
)
