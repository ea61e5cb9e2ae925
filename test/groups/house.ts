/** The house itself, and what is read and not run. */
import { group } from '../help/group.ts'

await group(
  'test/{bin,house,http,names,run,source}.test.ts',
  'test/{describe,seams,torture}/*.test.ts',
  'test/corpus/*.test.ts',
)
