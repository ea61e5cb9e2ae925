#!/usr/bin/env node
// Old JavaScript on purpose: this file must also run on the Node that is too old, in order to say so.
var needed = [24, 15]
var running = process.versions.node.split('.').map(Number)

if (running[0] > needed[0] || (running[0] === needed[0] && running[1] >= needed[1])) {
  import('../dist/cli/main.js').catch((error) => {
    if (error.code !== 'ERR_MODULE_NOT_FOUND' || !/dist.cli.main\.js/.test(error.message)) throw error
    console.error('This checkout of bylaw is not built. Run `npm run bylaw -- <command>`, or `npm run build` first.')
    process.exitCode = 1
  })
} else {
  console.error(
    'bylaw needs Node ' +
      needed.join('.') +
      ' or newer; this is Node ' +
      process.versions.node +
      '.\n' +
      'Bring one into this project:  npm install --save-dev node@26\n' +
      'and run `npx bylaw` again, or install the LTS release from https://nodejs.org.',
  )
  process.exitCode = 1
}
