import { type Json, Secret } from '../../../src/base/json.ts';
import { OperatorKey } from '../../../src/engine/kind/planner/compare.ts';
import type { KindDefinition } from '../../../src/engine/kind/contract/define.ts';
import type { AccountView, Pass, Referred, Subject, View } from '../../../src/engine/kind/contract/pass.ts';
import type { Call, Memory, Step } from '../../../src/engine/kind/contract/step.ts';
import type { Read, ReadProblem, Snapshot } from '../../../src/engine/ports.ts';

const key = new OperatorKey(new Secret('a key made up for tests'));

/** The fingerprint of a value, as a status would carry it. */
export function fingerprint(value: Json): string {
  return key.fingerprint(value);
}

/** One list of a read, as a test wants it seen. */
export interface Shown {
  readonly read: Read;
  readonly items: readonly unknown[];
  /** Monotonic; 1,000 when nothing else matters. */
  readonly begunAt?: number;
}

/** A list that shows these items. */
export function shows<Item>(read: Read<Item>, items: readonly Item[], begunAt?: number): Shown {
  return { read, items, ...(begunAt !== undefined && { begunAt }) };
}

/** What a test says of a pass; all else is as in a calm account, at 10,000 on the monotonic clock. */
export interface PassOptions<Facts> {
  readonly spec: unknown;
  readonly memory?: Partial<Memory<Facts>>;
  readonly subject?: Partial<Subject>;
  readonly account?: Partial<AccountView>;
  readonly shown?: readonly Shown[];
  readonly problems?: Readonly<Record<string, ReadProblem>>;
  readonly referred?: Readonly<Record<string, Referred>>;
  readonly secrets?: Readonly<Record<string, string>>;
  readonly configMaps?: Readonly<Record<string, string>>;
  readonly claimant?: Pass<unknown, Facts>['claimant'];
  readonly with?: Partial<Pass<unknown, Facts>>;
}

/** A pass over one object of a kind. */
export function aPass<Spec, Facts>(kind: KindDefinition<Spec, Facts>, options: PassOptions<Facts>): Pass<Spec, Facts> {
  const { memory, subject, account, shown = [], problems = {}, referred = {}, secrets = {}, configMaps = {} } = options;
  return {
    subject: {
      kind: kind.kind,
      namespace: 'team',
      name: 'mine',
      uid: 'uid-1',
      generation: 1,
      createdAtMs: 0,
      annotations: {},
      deleting: false,
      held: kind.holds,
      ...subject,
    },
    spec: kind.spec.parse(options.spec),
    memory: {
      id: undefined,
      ownership: undefined,
      binding: undefined,
      journal: undefined,
      applied: undefined,
      facts: {} as Facts,
      ...memory,
    },
    account: {
      endpoint: 'api.example.com',
      accountId: 'acc_1',
      managementPolicy: 'Manage',
      adoption: 'ById',
      pollMs: 60_000,
      inEffect: { pollMs: 60_000, rateLimitedMs: undefined },
      frozen: undefined,
      ...account,
    },
    view: viewOf(shown, problems),
    referred: (what, name) => referred[`${what}/${name}`],
    secret: (name, field) => asSecret(secrets[`${name}/${field}`]),
    configMap: (name, field) => configMaps[`${name}/${field}`],
    claimant: options.claimant ?? (() => undefined),
    dependents: () => ({ count: 0, first: [] }),
    creating: () => undefined,
    wrote: undefined,
    journalSeen: { monotonic: 10_000, wall: 1_767_225_600_000 },
    notes: {},
    askedAt: 1_000,
    takeOverMs: 0,
    horizonMs: 120_000,
    callDeadlineMs: 30_000,
    mark: 'apphosting:aaaaaaaaaaaaaaaa',
    fingerprint,
    contested: new Set(),
    wallMs: 1_767_225_600_000,
    monotonicMs: 10_000,
    ...(options.with as Partial<Pass<Spec, Facts>>),
  };
}

function asSecret(value: string | undefined): Secret | undefined {
  return value === undefined ? undefined : new Secret(value);
}

function viewOf(shown: readonly Shown[], problems: Readonly<Record<string, ReadProblem>>): View {
  const snapshotOf = <Item>(read: Read<Item>): Snapshot<Item> | undefined => {
    const found = shown.find((one) => one.read.key === read.key);
    if (found === undefined) return undefined;
    const items = new Map(found.items.map((item) => [read.idOf(item as Item), item as Item]));
    return { items, begunAt: found.begunAt ?? 1_000, dateMs: undefined };
  };
  return {
    all: snapshotOf,
    one: (read, id) => {
      const snapshot = snapshotOf(read);
      return snapshot && { snapshot, item: snapshot.items.get(id) };
    },
    group: (read, group) => {
      const snapshot = snapshotOf(read);
      return (
        snapshot && { snapshot, items: [...snapshot.items.values()].filter((item) => read.groupOf?.(item) === group) }
      );
    },
    problem: (read) => problems[read.key],
  };
}

/** The step of a pass after everything that it only learns on the way was remembered. */
export function settledStep<Spec, Facts>(kind: KindDefinition<Spec, Facts>, options: PassOptions<Facts>): Step<Facts> {
  let { memory = {} } = options;
  for (let count = 0; count < 8; count += 1) {
    const step = kind.step(aPass(kind, { ...options, memory }));
    if (step.is !== 'again') return step;
    memory = { ...memory, ...step.remember };
  }
  throw new Error('the step never settles');
}

/** The call that a pass comes to; fails where it comes to something else. */
export function callIn<Facts>(step: Step<Facts>): Call<Facts> {
  if (step.is === 'call') return step.call;
  throw new Error(`expected a call, not ${JSON.stringify(step)}`);
}

/** A step as one line: what it is, and the body or the reason. */
export function inShort(step: Step<unknown>): string {
  switch (step.is) {
    case 'call':
      return `${step.call.request.endpoint} ${JSON.stringify(step.call.request.body ?? step.call.request.query)}`;
    case 'read':
      return `read ${step.read.key}`;
    case 'ready':
      return `ready ${step.reason ?? 'InSync'}`;
    case 'wait':
    case 'stall':
      return `${step.is} ${step.reason}`;
    case 'begin':
      return `begin ${step.journal.operation}`;
    case 'again':
    case 'release':
      return step.is;
  }
}
