/** The house rules, and the tests that read files without running them. */
import { group } from '../help/group.ts'

await group(
  'test/{bin,house,http,names,run,source}.test.ts',
  'test/{describe,seams,torture}/*.test.ts',
  'test/corpus/*.test.ts',
)
