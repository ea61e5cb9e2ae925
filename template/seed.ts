/** `npm run seed`: rows to begin with. A second run creates nothing, as each row has a key that is made from its content. */
import type { Client } from 'bylaw/client'
import type api from './api.ts'

export default async function seed(app: Client<typeof api>): Promise<void> {
  const project = await app.projects.create({ name: 'Launch' })
  for (const title of ['Write the first page', 'Ask three people', 'Publish it'])
    await app.projects(project).tasks.create({ title })
}
