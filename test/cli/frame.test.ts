import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { activate } from '../../src/cli/activate.ts';
import { completion } from '../../src/cli/completion/completion.ts';
import { catalog, inventory } from '../../src/cli/day-two/inventory.ts';
import { steering } from '../../src/cli/day-two/steer.ts';
import { doctor } from '../../src/cli/doctor/doctor.ts';
import { command, type Command } from '../../src/cli/frame.ts';
import { importAccount } from '../../src/cli/import/command.ts';
import { plan } from '../../src/cli/plan/command.ts';
import { points } from '../../src/cli/points.ts';
import { run } from '../../src/cli/run.ts';
import { status } from '../../src/cli/status/status.ts';
import { why } from '../../src/cli/status/why.ts';
import { ran } from './support/spoken.ts';

const commands: Readonly<Record<string, Command>> = {
  activate,
  catalog,
  completion,
  doctor,
  import: importAccount,
  inventory,
  plan,
  points,
  reconcile: steering('reconcile'),
  run,
  status,
  stop: steering('stop'),
  why,
};

describe('every command', () => {
  it.each(Object.entries(commands))('answers --help, and a wrong flag with 64 and one line: %s', async (name, call) => {
    const help = await ran(call, ['--help']);
    const wrong = await ran(call, ['--nothing']);

    expect(help).toMatchObject({ code: 0, err: '' });
    expect(help.out).toMatch(new RegExp(`^apphosting ${name}\\b`, 'u'));
    expect(wrong).toEqual({
      code: 64,
      out: '',
      err: `apphosting ${name}: there is no option --nothing; apphosting ${name} --help lists the options\n`,
    });
  });

  it.each([
    ['an exit code is what it ends with', () => Promise.resolve(3), { code: 3, err: '' }],
    [
      'what keeps it from its work is one line, and 1',
      () => Promise.resolve({ trouble: 'no' }),
      { code: 1, err: 'apphosting try: no\n' },
    ],
    [
      'a command line that makes no sense is 64, and names the help',
      () => Promise.resolve({ trouble: 'no', isUsage: true }),
      { code: 64, err: 'apphosting try: no; apphosting try --help lists the options\n' },
    ],
    [
      'what is thrown is one line, and 1',
      () => Promise.reject(new Error('gone')),
      { code: 1, err: 'apphosting try: gone\n' },
    ],
  ])('ends in one way: %s', async (_what, work, ended) => {
    const call = command({ name: 'try', summary: '', flags: { it: { help: '', schema: z.boolean() } } }, work);

    expect(await ran(call, [])).toEqual({ out: '', ...ended });
  });
});
