import { createSimulator } from '../../src/simulator/simulator.ts';

/** A JSON object as a client sees it. */
export type Json = Record<string, any>; // oxlint-disable-line typescript/no-explicit-any -- answers are read freely

/** An answer as a client sees it. */
export interface Seen {
  readonly status: number;
  readonly body: Json;
}

/** One minute, hour and day in milliseconds. */
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** Long enough for an enrolment, a check, or an activation that nothing hinders. */
export const SETTLED = MINUTE;

/** A simulator on a virtual clock, with the calls a client of disaster readiness makes. */
export function setting(readings: Readonly<Record<string, unknown>> = {}) {
  const simulator = createSimulator({ clock: 'virtual', readings });
  let references = 0;

  async function send(method: string, url: string, body?: unknown, token?: string): Promise<Seen> {
    const headers = {
      host: '127.0.0.1:8088',
      ...(token === undefined ? {} : { authorization: token }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    };
    const text = body === undefined ? {} : { body: JSON.stringify(body) };
    const reply = await simulator.handle({ method, url, headers, ...text });
    if (reply.kind !== 'answered') throw new Error(`no answer but ${reply.kind}`);
    return { status: reply.status, body: reply.body === '' ? {} : JSON.parse(reply.body) };
  }

  const dr = '/api/public/v1/disaster-readiness';
  const post = (call: string, body: unknown, token = 'demo-admin') => send('POST', `${dr}/${call}`, body, token);
  const get = (list: string, query: Json = {}, token = 'demo-admin') =>
    send('GET', `${dr}/${list}?${new URLSearchParams({ accountId: 'acc_demo', ...query })}`, undefined, token);
  const control = (method: string, path: string, body?: unknown) => send(method, `/_sim${path}`, body);
  const reference = () => `reference-${(references += 1)}`;

  /** Configures one environment; the answer is the result of that item. */
  async function configure(settings: Json = {}, item: Json = {}): Promise<Json> {
    const one = { sourceAppEnvId: 'env_web_prod', requestId: reference(), expectedGeneration: 0, ...settings, ...item };
    const { status, body } = await post('configure', { accountId: 'acc_demo', common: {}, items: [one] });
    if (status !== 200) throw new Error(`configure answered ${status}: ${JSON.stringify(body)}`);
    return body['items'][0];
  }

  /** Protects an environment and waits until the protection is ready. */
  async function protect(settings: Json = {}, item: Json = {}): Promise<string> {
    const result = await configure(settings, item);
    if (result['success'] !== true) throw new Error(String(result['error']));
    simulator.advance(SETTLED);
    return result['configurationId'];
  }

  async function configuration(configurationId: string): Promise<Json> {
    const { body } = await get('configurations', { limit: '100' });
    const found = body['items'].find((item: Json) => item['configurationId'] === configurationId);
    if (found === undefined) throw new Error(`${configurationId} is not listed`);
    return found;
  }

  async function source(sourceAppEnvId = 'env_web_prod'): Promise<Json> {
    const { body } = await get('sources', { limit: '100' });
    return body['items'].find((item: Json) => item['sourceAppEnvId'] === sourceAppEnvId);
  }

  /** The body of an activation that nothing speaks against. */
  async function activation(configurationId: string, more: Json = {}): Promise<Json> {
    const { body } = await get('points', { configurationId });
    const { selectedOperationId, pointId, cutoffAt } = body['items'][0];
    const pinned = { selectedOperationId, pointId, cutoffAt, expectedGeneration: body['generation'] };
    const target = { envName: 'recovered', createNewApp: false };
    return { accountId: 'acc_demo', configurationId, requestId: reference(), ...pinned, target, ...more };
  }

  /** Starts an activation and says which operation it is. */
  async function activate(configurationId: string, more: Json = {}): Promise<string> {
    const { status, body } = await post('activate', await activation(configurationId, more));
    if (status !== 200) throw new Error(`activate answered ${status}: ${JSON.stringify(body)}`);
    return body['operationId'];
  }

  async function validation(configurationId: string, more: Json = {}): Promise<Json> {
    const { generation } = await configuration(configurationId);
    return { accountId: 'acc_demo', configurationId, expectedGeneration: generation, requestId: reference(), ...more };
  }

  async function discard(configurationId: string, operationId: string, more: Json = {}): Promise<Seen> {
    const pinned = { accountId: 'acc_demo', configurationId, operationId, expectedGeneration: 1 };
    return post('discard-activation', { ...pinned, requestId: reference(), discardAcknowledged: true, ...more });
  }

  const reset = (more: Json = {}) =>
    post('reset', {
      accountId: 'acc_demo',
      scope: 'environment',
      confirmationName: 'production',
      sourceAppEnvId: 'env_web_prod',
      ...more,
    });

  const tell = (configurationId: string, words: Json) => control('PATCH', `/configurations/${configurationId}`, words);

  async function ledger(kind: string): Promise<readonly Json[]> {
    const { body } = await control('GET', '/ledger');
    return body['items'].filter((commit: Json) => commit['kind'] === kind);
  }

  return {
    ...{ send, post, get, control, tell, configure, protect, configuration, source, ledger, reference },
    ...{ activation, activate, validation, discard, reset },
    advance: (ms: number) => simulator.advance(ms),
    now: () => simulator.now(),
    reads: (changes: Json) => control('PATCH', '/readings', changes),
  };
}

/** Everything a test can do in its setting. */
export type Setting = ReturnType<typeof setting>;

/** Names for a warm destination. */
export const WARM = { mode: 'warm', target: { envName: 'standby', createNewApp: false } };
