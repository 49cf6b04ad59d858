import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  duration,
  helpOf,
  parseFlags,
  runCommand,
  sandboxCommand,
  programPlaces,
  UsageError,
  wholeNumber,
} from '../src/config.ts';

const command = {
  name: 'demo',
  summary: 'Shows how flags are read.',
  flags: {
    once: { help: 'only once' },
    pollSeconds: { help: 'how often', value: 'N', fallback: '60', variable: 'POLL', schema: wholeNumber(1, 100) },
    reading: { help: 'a reading', value: 'NAME=VALUE', many: true, schema: z.array(z.string()) },
    more: { help: 'for another program', value: 'ARGS', dashed: true, schema: z.string().optional() },
  },
};

function settingsOf(args: readonly string[], environment = {}) {
  const parsed = parseFlags(command, args, environment);
  return 'settings' in parsed ? parsed.settings : parsed;
}

describe('flags', () => {
  it('give typed settings, with defaults for what is absent', () => {
    expect(settingsOf([])).toEqual({ once: false, pollSeconds: 60, reading: [], more: undefined });
    expect(settingsOf(['--once', '--poll-seconds', '5', '--reading=a=1', '--reading', 'b=2'])).toEqual({
      once: true,
      pollSeconds: 5,
      reading: ['a=1', 'b=2'],
      more: undefined,
    });
  });

  it('prefer the flag to the variable, and the variable to the default', () => {
    expect(settingsOf([], { POLL: '7' })).toMatchObject({ pollSeconds: 7 });
    expect(settingsOf(['--poll-seconds=8'], { POLL: '7' })).toMatchObject({ pollSeconds: 8 });
    expect(settingsOf([], { POLL: '' })).toMatchObject({ pollSeconds: 60 });
  });

  it.each([
    { args: ['--wrong'], line: 'there is no option --wrong', because: 'nobody declared it' },
    { args: ['--oncE'], line: 'there is no option --oncE', because: 'letters count' },
    {
      args: ['--poll-seconds'],
      line: '--poll-seconds needs a value, as in --poll-seconds N',
      because: 'nothing follows',
    },
    {
      args: ['--poll-seconds', '--once'],
      line: '--poll-seconds needs a value, as in --poll-seconds N',
      because: 'a flag follows',
    },
    { args: ['--poll-seconds', 'soon'], line: '--poll-seconds: must be a whole number', because: 'it is a word' },
    { args: ['--poll-seconds', '101'], line: '--poll-seconds: must be at most 100', because: 'it is too much' },
    { args: ['--poll-seconds=1', '--poll-seconds=2'], line: '--poll-seconds is given twice', because: 'one counts' },
    { args: ['--once=yes'], line: '--once takes no value', because: 'it is a switch' },
    { args: ['extra'], line: '"extra" is not an option', because: 'the command takes no arguments' },
  ])('answers $args with one line, because $because', ({ args, line }) => {
    expect(() => settingsOf(args)).toThrow(new UsageError(line));
  });

  it('pass dashed text on where it is meant for another program', () => {
    expect(settingsOf(['--more', '--log-level debug'])).toMatchObject({ more: '--log-level debug' });
  });

  it('explain themselves', () => {
    const parsed = parseFlags(command, ['--help', '--wrong'], {});

    expect(parsed).toEqual({ help: helpOf(command) });
    expect(helpOf(command)).toContain('--poll-seconds N');
    expect(helpOf(command)).toContain('how often (1 to 100; default 60; or POLL)');
  });

  it.each([
    ['90', 90],
    ['90s', 90],
    ['2m', 120],
    ['1h', 3_600],
    ['2d', undefined],
    ['0s', undefined],
  ])('take a length of time: %s', (text, seconds) => {
    expect(duration(1, 86_400).safeParse(text).data).toBe(seconds);
  });

  it.each([
    ['--horizon-seconds', 'horizonSeconds', 1, 3_600],
    ['--call-deadline-seconds', 'callDeadlineSeconds', 3, 300],
    ['--lease-seconds', 'leaseSeconds', 2, 300],
    ['--poll-seconds', 'pollSeconds', 1, 3_600],
    ['--workers', 'workers', 1, 1_024],
  ])('of the operator take a number in its range, which help tells: %s', (flag, setting, least, most) => {
    const given = (number: number) => parseFlags(runCommand, [flag, String(number)], {});

    expect(given(least)).toMatchObject({ settings: { [setting]: least } });
    expect(given(most)).toMatchObject({ settings: { [setting]: most } });
    expect(() => given(least - 1)).toThrow(`${flag}: must be at least ${least}`);
    expect(() => given(most + 1)).toThrow(`${flag}: must be at most ${most}`);
    expect(helpOf(runCommand)).toMatch(new RegExp(`${flag} .*\\(${least} to ${most}; default \\d+\\)`, 'u'));
  });

  it('of the sandbox refuse what the simulator would refuse later', () => {
    const parse = (...args: readonly string[]) => parseFlags(sandboxCommand, args, {});

    expect(() => parse('--clock', 'fast')).toThrow('must be real or virtual');
    expect(() => parse('--latency', '600001')).toThrow('--latency: must be at most 600000');
    expect(parse('--latency', '600000')).toMatchObject({ settings: { latency: 600_000 } });
  });
});

describe('programPlaces', () => {
  it('follow the environment, and ignore a cache folder that is not absolute', () => {
    expect(programPlaces({ XDG_CACHE_HOME: '/cache', KUBEBUILDER_ASSETS: '/bins' })).toMatchObject({
      assets: '/bins',
      cacheDir: '/cache/apphosting',
    });
    expect(programPlaces({ XDG_CACHE_HOME: 'cache', KUBEBUILDER_ASSETS: '' })).toMatchObject({ assets: undefined });
    expect(programPlaces({ XDG_CACHE_HOME: 'cache' }).cacheDir).toMatch(/^\/.*\.cache\/apphosting$/);
  });
});
