import { box } from '../box.ts';

/** An object of a request or an answer. */
export type Fields = Record<string, unknown>;

/** An answer as a client sees it. */
interface Seen<Body = Fields> {
  readonly status: number;
  readonly body: Body;
}

/** The fields of a configuration that tests look at. */
export interface Configuration {
  readonly configurationId: string;
  readonly generation: number;
  readonly settings: Fields;
  readonly readiness: {
    readonly state: string;
    readonly reason?: string;
    readonly warnings: readonly string[];
    readonly cutoffAt?: string;
    readonly recoveryPointAgeMs?: number;
  };
  readonly activeOperationId?: string;
  readonly activeOperation?: Operation & { readonly failedSteps: number; readonly validationCleanup?: Fields };
  readonly activities: readonly Operation[];
  readonly standby?: Fields;
  readonly warmDestination?: Fields;
  readonly plannedDestination?: Fields;
  readonly warmValidationOperationId?: string;
  readonly warmRecoveryOperationId?: string;
  readonly activationUnavailableReason?: string;
  readonly activationResult?: Fields & { readonly targetAppEnvId: string; readonly targetAppId: string };
  readonly canRequestDiscard?: boolean;
  readonly pendingCleanup?: Fields & { readonly earliestRetentionUntil?: string };
  readonly validationScheduleEstablished: boolean;
  readonly nextSnapshotAt?: string;
  readonly nextValidationAt?: string;
}

/** The fields of an operation that tests look at. */
interface Operation {
  readonly operationId: string;
  readonly kind: string;
  readonly phase: string;
  readonly outcome?: string;
  readonly cutoffAt?: string;
}

/** A recovery point as a client sees it. */
export interface Point {
  readonly selectedOperationId: string;
  readonly pointId: string;
  readonly cutoffAt: string;
  readonly availabilityRequiresVerification: boolean;
  readonly retainedSizing?: Fields;
}

/** One page of points. */
export interface Points {
  readonly generation: number;
  readonly items: readonly Point[];
  readonly nextCursor?: string | null;
}

/** One result of configure. */
export interface Result {
  readonly sourceAppEnvId: string;
  readonly success: boolean;
  readonly error?: string;
  readonly configurationId: string;
  readonly operationId: string;
  readonly generation: number;
  readonly phase: string;
}

/** A receipt of a journaled call. */
export type Receipt = Pick<Result, 'configurationId' | 'operationId' | 'generation' | 'phase'>;

/** A list of the interface or of the control surface. */
export interface List<Item = Fields> {
  readonly items: readonly Item[];
  readonly nextCursor?: string | null;
}

/** One minute, hour and day in milliseconds. */
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** Long enough for an enrollment, a check, or an activation that nothing hinders. */
export const SETTLED = 60_000;

/** What a warm protection needs. */
export const WARM = { mode: 'warm', target: { envName: 'standby', createNewApp: false } };

/** A simulator on a virtual clock, and how to send it something. */
function wire(readings: Fields) {
  const on = box({ readings });

  async function send<Body = Fields>(method: string, url: string, body?: unknown, token?: string): Promise<Seen<Body>> {
    const headers = {
      host: '127.0.0.1:8088',
      ...(token === undefined ? {} : { authorization: token }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const { kind, status, text } = await on.raw({ method, url, headers, ...sent });
    if (kind !== 'answered') throw new Error(`no answer but ${kind}`);
    return { status, body: JSON.parse(text === '' ? '{}' : text) as Body };
  }

  const api = '/api/public/v1';
  return {
    post: <Body = Fields>(call: string, body: unknown, token = 'demo-admin') =>
      send<Body>('POST', `${api}/disaster-readiness/${call}`, body, token),
    patch: (path: string, body: unknown, token = 'demo-admin') => send('PATCH', `${api}${path}`, body, token),
    remove: (path: string, token = 'demo-admin') => send('DELETE', `${api}${path}`, undefined, token),
    get: <Body = Fields>(path: string, query: Readonly<Record<string, string>> = {}, token = 'demo-admin') =>
      send<Body>('GET', `${api}${path}?${new URLSearchParams(query).toString()}`, undefined, token),
    control: <Body = Fields>(method: string, path: string, body?: unknown) => send<Body>(method, `/_sim${path}`, body),
    advance: on.advance,
    now: () => on.simulator.now(),
  };
}

/** A simulator with the calls a client of disaster readiness makes. */
export function setting(readings: Fields = {}) {
  const wired = wire(readings);
  const { post, get, control, advance } = wired;
  let references = 0;
  const reference = () => `reference-${(references += 1)}`;
  const account = { accountId: 'acc_demo' };

  const list = <Item = Fields>(name: string, query: Readonly<Record<string, string>> = {}, token?: string) =>
    get<List<Item>>(`/disaster-readiness/${name}`, { ...account, ...query }, token);
  const points = (configurationId: string, query: Readonly<Record<string, string>> = {}) =>
    get<Points>('/disaster-readiness/points', { ...account, configurationId, ...query });

  /** An item that nothing speaks against. */
  const item = (more: Fields = {}) => ({
    sourceAppEnvId: 'env_web_prod',
    requestId: reference(),
    expectedGeneration: 0,
    ...more,
  });

  /** Configures environments; the answers are the results of the items. */
  async function configure(items: readonly Fields[], common: Fields = {}): Promise<readonly Result[]> {
    const { status, body } = await post<List<Result>>('configure', { ...account, common, items });
    if (status !== 200) throw new Error(`configure answered ${status}: ${JSON.stringify(body)}`);
    return body.items;
  }

  /** Configures one environment. */
  async function configureOne(more: Fields = {}): Promise<Result> {
    const [result] = await configure([item(more)]);
    if (result === undefined) throw new Error('no result');
    return result;
  }

  /** Protects an environment and waits until the protection is ready. */
  async function protect(more: Fields = {}): Promise<string> {
    const result = await configureOne(more);
    if (!result.success) throw new Error(result.error);
    advance(SETTLED);
    return result.configurationId;
  }

  async function configuration(configurationId: string): Promise<Configuration> {
    const { body } = await list<Configuration>('configurations', { limit: '100' });
    const found = body.items.find((each) => each.configurationId === configurationId);
    if (found === undefined) throw new Error(`${configurationId} is not listed`);
    return found;
  }

  async function source(sourceAppEnvId = 'env_web_prod'): Promise<Fields> {
    const { body } = await list('sources', { limit: '100' });
    return body.items.find((each) => each['sourceAppEnvId'] === sourceAppEnvId) ?? {};
  }

  /** The body of an activation that nothing speaks against. */
  async function activation(configurationId: string, more: Fields = {}): Promise<Fields> {
    const { body } = await points(configurationId);
    const [point] = body.items;
    if (point === undefined) throw new Error('there is no point');
    const { selectedOperationId, pointId, cutoffAt } = point;
    const pinned = { selectedOperationId, pointId, cutoffAt, expectedGeneration: body.generation };
    const target = { envName: 'recovered', createNewApp: false };
    return { ...account, configurationId, requestId: reference(), ...pinned, target, ...more };
  }

  /** Starts an activation and says which operation it is. */
  async function activate(configurationId: string, more: Fields = {}): Promise<string> {
    const { status, body } = await post<Receipt>('activate', await activation(configurationId, more));
    if (status !== 200) throw new Error(`activate answered ${status}: ${JSON.stringify(body)}`);
    return body.operationId;
  }

  const validate = (configurationId: string, more: Fields = {}) =>
    post<Receipt>('validate', { ...account, configurationId, expectedGeneration: 1, requestId: reference(), ...more });
  const discard = (configurationId: string, operationId: string, more: Fields = {}) =>
    post<Receipt>('discard-activation', {
      ...account,
      configurationId,
      operationId,
      expectedGeneration: 1,
      requestId: reference(),
      discardAcknowledged: true,
      ...more,
    });
  const reset = (more: Fields = {}) =>
    post('reset', {
      ...account,
      scope: 'environment',
      confirmationName: 'production',
      sourceAppEnvId: 'env_web_prod',
      ...more,
    });

  const tell = (configurationId: string, words: Fields) =>
    control('PATCH', `/configurations/${configurationId}`, words);

  async function ledger(kind: string): Promise<readonly Fields[]> {
    const { body } = await control<List>('GET', '/ledger');
    return body.items.filter((commit) => commit['kind'] === kind);
  }

  return {
    ...wired,
    account,
    reference,
    list,
    points,
    item,
    configure,
    configureOne,
    protect,
    configuration,
    source,
    activation,
    activate,
    validate,
    discard,
    reset,
    tell,
    ledger,
    reads: (changes: Fields) => control('PATCH', '/readings', changes),
  };
}

/** Everything a test can do in its setting. */
export type Setting = ReturnType<typeof setting>;
