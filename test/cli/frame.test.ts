import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { activate } from '../../src/cli/activate.ts';
import { completion } from '../../src/cli/completion/completion.ts';
import { catalog, inventory } from '../../src/cli/day-two/inventory.ts';
import { steering } from '../../src/cli/day-two/steer.ts';
import { doctor } from '../../src/cli/doctor/doctor.ts';
import { command, type Command } from '../../src/cli/frame.ts';
import { output, Trouble, UsageError } from '../../src/config.ts';
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
    [importAccount, ['folder', '--id', ''], '--id: must not be empty'],
    [importAccount, ['folder', '--member', ''], '--member: must not be empty'],
    [doctor, ['--skip', ''], '--skip: must not be empty'],
    [status, ['--as', 'ann', '--as-group', ''], '--as-group: must not be empty'],
  ])('refuses an empty value of an option that is a list', async (call, args, line) => {
    const { code, err } = await ran(call, args);

    expect(err).toContain(line);
    expect(code).toBe(64);
  });

  it.each([
    ['an exit code is what it ends with', () => Promise.resolve(3), { code: 3, err: '' }],
    [
      'what keeps it from its work is one line, and 1',
      () => Promise.reject(new Trouble('no')),
      { code: 1, err: 'apphosting try: no\n' },
    ],
    [
      'a command line that makes no sense is 64, and names the help',
      () => Promise.reject(new UsageError('no')),
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

  it.each([
    ['the result is printed, and 0', {}, { code: 0, err: '' }],
    ['a remark stands beside it', { note: 'old' }, { code: 0, err: 'apphosting try: old\n' }],
    ['findings have a code of their own', { code: 2 }, { code: 2, err: '' }],
    [
      'what could not be told is a line each, and 1 in any case',
      { problems: ['no list', 'no item'], code: 2 },
      { code: 1, err: 'apphosting try: no list\napphosting try: no item\n' },
    ],
  ])('gives its answer in one way: %s', async (_what, more, ended) => {
    const flags = { output: output(['text', 'json', 'yaml']) };
    const call = command({ name: 'try', summary: '', flags }, () =>
      Promise.resolve({ data: { is: true }, text: 'it is\n', ...more }),
    );

    expect(await ran(call, [])).toEqual({ out: 'it is\n', ...ended });
    expect(await ran(call, ['-o', 'json'])).toEqual({ out: '{\n  "is": true\n}\n', ...ended });
    expect(await ran(call, ['-o', 'yaml'])).toEqual({ out: 'is: true\n', ...ended });
  });
});
