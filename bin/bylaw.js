#!/usr/bin/env node
import module from 'node:module'
import { fileURLToPath } from 'node:url'
import './limit-memory.js'
import { isTooOld, neededNode, nodePackage } from './node-version.js'

// Compiled code is kept beside the installed packages: later starts are faster and load no compiler for TypeScript.
// Where the folder cannot be written, nothing is kept.
const inside = import.meta.url.includes('/node_modules/')
if (!isTooOld)
  module.enableCompileCache(
    fileURLToPath(new URL(inside ? '../../.cache/bylaw' : '../node_modules/.cache/bylaw', import.meta.url)),
  )

// A new project brings the Node that it needs.
if (!isTooOld || process.argv[2] === 'init') {
  import('../dist/cli/main.js').catch((error) => {
    if (error.code !== 'ERR_MODULE_NOT_FOUND' || !/dist.cli.main\.js/.test(error.message)) throw error
    console.error('This checkout of bylaw is not built. Run `npm run bylaw -- <command>`, or `npm run build` first.')
    process.exitCode = 1
  })
} else {
  console.error(
    'bylaw needs Node ' +
      neededNode +
      ' or newer; this is Node ' +
      process.versions.node +
      '.\n' +
      'Bring one into this project:  npm install --save-dev ' +
      nodePackage +
      '@26\n' +
      'and run `npx bylaw` again, or install the LTS release from https://nodejs.org.',
  )
  process.exitCode = 1
}
