/**
 * Makes our own HTTP engine the default, in this process and in those that it starts: the suites run on it with
 * `BYLAW_TEST_ENGINE=own`, which `npm run test:own` sets.
 */
import { registerHooks } from 'node:module'

const usual = "engine: choice('node', 'own')"

if (process.env.BYLAW_TEST_ENGINE === 'own')
  registerHooks({
    load: (url, context, next) => {
      const loaded = next(url, context)
      if (!url.endsWith('/src/settings.ts')) return loaded
      const text = Buffer.from(loaded.source as Uint8Array).toString()
      if (!text.includes(usual)) throw new Error(`src/settings.ts does not have ${usual}.`)
      return { ...loaded, source: text.replace(usual, "engine: choice('own', 'node')") }
    },
  })
