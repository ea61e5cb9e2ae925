// Old JavaScript on purpose: this file must also run on the Node that is too old, in order to say so.
var needed = [24, 15]
var running = process.versions.node.split('.').map(Number)
var platform = `${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`

export var neededNode = needed.join('.')
export var isTooOld = running[0] < needed[0] || (running[0] === needed[0] && running[1] < needed[1])
/** The package of Node for this machine. It has no install script: npm 12 does not run that of the package `node`. */
export var nodePackage = `node-${platform === 'darwin-arm64' ? 'bin-' : ''}${platform}`
