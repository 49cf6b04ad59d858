import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { startSimulator } from '../../../src/simulator/start.ts';
import { folderOf } from './folder.ts';

/** The service in a box at a socket, with what it was asked. */
export interface ServiceAtSocket {
  readonly url: string;
  /** The flags by which a command reads its account. */
  readonly flags: readonly string[];
  /** The same flags with another token. */
  flagsAs(token: string): readonly string[];
  /** Changes something, as somebody else does; the answer's body. */
  post(path: string, body: object, method?: string): Promise<Readonly<Record<string, unknown>>>;
  /** Lets requests of this path go wrong. */
  disturb(path: string, effect: object, count?: number): Promise<unknown>;
  /** Lets time pass in the service, if its clock is virtual. */
  advance(ms: number): Promise<unknown>;
  /** The methods of all requests so far. */
  methods(): Promise<readonly string[]>;
  /** How many commits of its ledger somebody asked for. */
  commits(): Promise<number>;
}

/** Starts one for as long as the test runs. */
export async function serviceAtSocket(
  token = 'demo-readonly',
  clock: 'real' | 'virtual' = 'real',
): Promise<ServiceAtSocket> {
  const started = await startSimulator({ seed: '1', clock, readings: { 'rate.limit': 10_000 } });
  onTestFinished(() => started.close());
  const { url } = started;
  const flagsAs = (token: string) => {
    const account = accountFlags(url, join(folderOf({ token }), 'token'));
    return [...account, '--allow-insecure-loopback', '--requests-per-second=1000'];
  };
  const json = async (path: string, init: RequestInit = {}) => {
    const answer = await fetch(`${url}${path}`, init);
    return (await answer.json()) as Readonly<Record<string, unknown>>;
  };
  const itemsOf = async (path: string) =>
    (await json(path))['items'] as readonly { readonly method: string; readonly requestSeq?: number | null }[];
  return {
    url,
    flags: flagsAs(token),
    flagsAs,
    post: (path, body, method = 'POST') =>
      json(`/api/public/v1${path}`, {
        method,
        headers: { authorization: 'demo-admin', 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    disturb: (path, effect, count = 1_000) => {
      const body = JSON.stringify({ match: { method: 'GET', path, count }, effect });
      return json('/_sim/faults', { method: 'POST', body });
    },
    advance: (ms) => json('/_sim/clock/advance', { method: 'POST', body: JSON.stringify({ ms }) }),
    methods: async () => (await itemsOf('/_sim/requests')).map(({ method }) => method),
    commits: async () =>
      (await itemsOf('/_sim/ledger')).filter(({ requestSeq }) => typeof requestSeq === 'number').length,
  };
}

function accountFlags(url: string, tokenFile: string): readonly string[] {
  return ['--base-url', url, '--token-file', tokenFile, '--account-id', 'acc_demo'];
}
