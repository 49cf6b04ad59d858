import { createServer } from 'node:http';
import process from 'node:process';
import { parseArgs } from 'node:util';

/* Stands in for the simulator: it listens, says so, and answers everything with 200. */

const { values } = parseArgs({ options: { listen: { type: 'string', default: '' } }, strict: false });
const [host = '', port = ''] = String(values.listen).split(':');
const server = createServer((_, response) => response.end('{}'));
server.listen(Number(port), host, () => process.stdout.write(`simulator listening on http://${host}:${port}\n`));
process.on('SIGTERM', () => process.exit(0));
