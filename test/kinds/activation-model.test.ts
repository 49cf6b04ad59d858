/**
 * Every order of what can happen to two activations of one configuration, up to a length: passes whose call is answered, lost
 * before or after it took effect, crashes, restores, discards, an hour that passes. The step is the real one; the service is
 * a model that is worse than the text: it may forget requestIds, may show nothing of operations but their moments, and takes a
 * second activation whenever none is running.
 */
import { describe, expect, it } from 'vitest';
import type { JournalEntry, Memory } from '../../src/engine/kind/contract/step.ts';
import type { Outcome } from '../../src/engine/ports.ts';
import { interpretOutcome } from '../../src/engine/call/interpret-outcome.ts';
import { recoveryActivation } from '../../src/kinds/recovery-activation/recovery-activation.ts';
import type { Facts, Spec } from '../../src/kinds/recovery-activation/schema.ts';
import {
  aConfiguration,
  aPass,
  aSource,
  aSpec,
  aWorld,
  cutoffTime,
  noMemory,
  pointId,
  wallStart,
} from './support/disaster-pass.ts';

interface Operation {
  readonly operationId: string;
  readonly requestId: string;
  readonly names: { readonly envName: string; readonly appName: string };
  state: 'active' | 'live' | 'discarded';
}

interface Resource {
  readonly name: string;
  readonly spec: Spec;
  /** What stands in status; lost with a restore. */
  stored: Memory<Facts>;
  notes: Readonly<Record<string, number>>;
  journalSeen: number | undefined;
  /** The reason of the last word on it. */
  said: string | undefined;
}

/** What the service does worse than others. */
type Flaw = 'forgetful' | 'nameless';

type Answer = 'answered' | 'lostBefore' | 'lostAfter';

class Model {
  now = 1_000;
  readonly operations: Operation[] = [];
  readonly sent = new Map<string, Set<string>>();
  readonly resources: readonly Resource[];
  readonly #flaws: readonly Flaw[];

  constructor(flaws: readonly Flaw[]) {
    this.#flaws = flaws;
    const other = { environmentName: 'elsewhere', appName: 'orders-elsewhere', createNewApp: true };
    this.resources = [aResource('one', aSpec()), aResource('two', aSpec({ target: other }))];
  }

  /** One activation is asked for; what the service commits to, and what it answers. */
  #serve(bytes: string): Outcome {
    const body = JSON.parse(bytes) as { requestId: string; target: { envName: string; appName: string } };
    const isForgotten = this.#flaws.includes('forgetful');
    const known = isForgotten ? undefined : this.operations.find(({ requestId }) => requestId === body.requestId);
    if (known !== undefined) return { is: 'committed', body: { operationId: known.operationId }, dateMs: undefined };
    if (this.operations.some(({ state }) => state === 'active')) {
      return { is: 'refused', status: 400, message: 'an activation is in progress', body: undefined };
    }
    const operationId = `op_${this.operations.length + 1}`;
    this.operations.push({ operationId, requestId: body.requestId, names: body.target, state: 'active' });
    return { is: 'committed', body: { operationId }, dateMs: undefined };
  }

  end(state: 'live' | 'discarded'): void {
    for (const operation of this.operations) if (operation.state === 'active') operation.state = state;
  }

  /** A backup without status comes back, and the process starts anew. */
  restore(resource: Resource): void {
    resource.stored = noMemory;
    this.crash();
  }

  /** The process dies, and another one finds what stands in status. */
  crash(): void {
    for (const resource of this.resources) {
      resource.notes = {};
      resource.journalSeen = undefined;
    }
    this.now += 1_000;
  }

  /** One pass over a resource; `dies` is after how many writes the process is gone. */
  pass(resource: Resource, answer: Answer, dies = Number.POSITIVE_INFINITY): void {
    let memory = resource.stored;
    let writes = 0;
    const store = (): boolean => {
      if ((writes += 1) > dies) return false;
      resource.stored = memory;
      return true;
    };
    for (let count = 0; count < 12; count += 1) {
      this.now += 1_000;
      if (memory.facts.finishedTime !== undefined) return;
      const pass = this.#passOf(resource, memory);
      const step = recoveryActivation.step(pass);
      if ('note' in step && step.note !== undefined) resource.notes = step.note;
      if ('remember' in step && step.remember !== undefined) memory = { ...memory, ...step.remember };
      switch (step.is) {
        case 'begin': {
          const startedAt = new Date(pass.wallMs).toISOString();
          const entry: JournalEntry = {
            ...step.journal,
            endpoint: 'api.example.com',
            accountId: 'acc_1',
            startedAt,
            deadlineSeconds: 30,
          };
          memory = { ...memory, journal: entry };
          if (!store()) return;
          break;
        }
        case 'call': {
          const bytes = JSON.stringify(step.call.request.body);
          const { requestId } = JSON.parse(bytes) as { requestId: string };
          this.sent.set(requestId, (this.sent.get(requestId) ?? new Set()).add(bytes));
          const lost: Outcome = { is: 'inDoubt', message: 'lost', body: undefined };
          const outcome = answer === 'lostBefore' ? lost : this.#serve(bytes);
          if (dies <= writes) return;
          const settled = interpretOutcome(step.call, answer === 'answered' ? outcome : lost, memory);
          if (settled.is === 'said') throw new Error('nothing is said here');
          memory = { ...memory, ...settled.remember };
          if (!store()) return;
          break;
        }
        case 'wait':
        case 'stall':
        case 'ready':
          if (store()) resource.said = step.reason;
          return;
        case 'again':
        case 'read':
          break;
        case 'release':
          return;
      }
    }
  }

  #passOf(resource: Resource, memory: Memory<Facts>) {
    resource.journalSeen = memory.journal === undefined ? undefined : (resource.journalSeen ?? this.now);
    const seenAt = resource.journalSeen ?? this.now;
    const active = this.operations.find(({ state }) => state === 'active');
    const live = this.operations.findLast(({ state }) => state === 'live');
    const isNameless = this.#flaws.includes('nameless');
    const activities = this.operations.map(({ operationId, state }) => ({
      ...(!isNameless && { operationId, kind: 'activation' }),
      cutoffAt: cutoffTime,
      ...(!isNameless && state === 'discarded' && { endedAt: '2026-01-01T00:00:00Z', outcome: 'discarded' }),
    }));
    const configuration = configurationLike({
      activities,
      ...(active !== undefined && {
        activeOperationId: active.operationId,
        activeOperation: activities[this.operations.indexOf(active)],
      }),
      ...(live !== undefined && {
        activationResult: {
          operationId: live.operationId,
          targetAppEnvId: `env_${live.operationId}`,
          pointId,
          cutoffAt: cutoffTime,
        },
      }),
    });
    const target = live && {
      appEnvId: `env_${live.operationId}`,
      appId: 'app_2',
      appName: live.names.appName,
      environmentName: live.names.envName,
    };
    const wallMs = wallStart + this.now;
    return aPass({
      world: aWorld({
        configurations: [configuration],
        sources: [{ ...aSource, target }],
        begunAt: this.now,
        dateMs: wallMs,
      }),
      spec: resource.spec,
      memory,
      notes: resource.notes,
      journalSeen: { monotonic: seenAt, wall: wallStart + seenAt },
      askedAt: this.now,
      wallMs,
      clusterMs: wallMs,
      monotonicMs: this.now,
      claimant: (id) => {
        const owner = this.resources.find((other) => other !== resource && other.stored.id === id);
        return owner && { name: owner.name, goesFirst: true };
      },
      creating: () => this.resources.find((other) => other !== resource && other.stored.journal !== undefined)?.name,
    });
  }
}

const parsed = new Map<string, ReturnType<typeof aConfiguration>>();

/** Reading a body takes longer than everything else here, and there are few different ones. */
function configurationLike(more: object): ReturnType<typeof aConfiguration> {
  const key = JSON.stringify(more);
  const known = parsed.get(key) ?? aConfiguration(more);
  parsed.set(key, known);
  return known;
}

function aResource(name: string, spec: Spec): Resource {
  return { name, spec, stored: noMemory, notes: {}, journalSeen: undefined, said: undefined };
}

type Event = readonly [name: string, happen: (model: Model) => void];

const passes: readonly Event[] = [0, 1].flatMap((index): readonly Event[] => {
  const of = (model: Model): Resource => {
    const resource = model.resources[index];
    if (resource === undefined) throw new Error('there are two resources');
    return resource;
  };
  const name = index === 0 ? 'one' : 'two';
  return [
    [`${name} answered`, (model) => model.pass(of(model), 'answered')],
    [`${name} lost before`, (model) => model.pass(of(model), 'lostBefore')],
    [`${name} lost after`, (model) => model.pass(of(model), 'lostAfter')],
    [`${name} dies before sending`, (model) => (model.pass(of(model), 'answered', 0), model.crash())],
    [`${name} dies after sending`, (model) => (model.pass(of(model), 'answered', 1), model.crash())],
    [`${name} restored without status`, (model) => model.restore(of(model))],
  ];
});
const events: readonly Event[] = [
  ...passes,
  ['the activation goes live', (model) => model.end('live')],
  ['the activation is discarded', (model) => model.end('discarded')],
  ['the horizon passes', (model) => void (model.now += 200_000)],
  ['the approval passes', (model) => void (model.now += 3_600_000)],
];

/** Every order of so many events. */
function* orders(length: number): Generator<readonly Event[]> {
  if (length === 0) yield [];
  else for (const rest of orders(length - 1)) for (const event of events) yield [...rest, event];
}

/** What is wrong after an order of events, in words. */
function wrongAfter(order: readonly Event[], flaws: readonly Flaw[]): string | undefined {
  const model = new Model(flaws);
  for (const [, happen] of order) happen(model);
  for (let round = 0; round < 4; round += 1) {
    for (const resource of model.resources) model.pass(resource, 'answered');
    model.now += 60_000;
    model.end('live');
  }
  const names = order.map(([name]) => name).join(', ');
  const lived = model.operations.filter(({ state }) => state !== 'discarded').length;
  if (lived > 1) return `${lived} activations after: ${names}`;
  const restored = order.some(([name]) => name.includes('restored'));
  const discarded = order.filter(([name]) => name.includes('discarded')).length;
  if (!restored && model.operations.length > 1 + discarded)
    return `${model.operations.length} operations after: ${names}`;
  for (const [requestId, bytes] of model.sent) {
    if (bytes.size > 1) return `${requestId} was sent with ${bytes.size} payloads after: ${names}`;
  }
  for (const { name, said, spec } of model.resources) {
    const { environmentName } = spec.target;
    const isLive = model.operations.some(
      ({ state, names: made }) => state === 'live' && made.envName === environmentName,
    );
    if (isLive ? said === 'OperationFailed' : said === 'Succeeded') return `${name} says ${said} after: ${names}`;
  }
  return undefined;
}

describe('two activations of one configuration', () => {
  it.each<{ readonly flaws: readonly Flaw[] }>([
    { flaws: [] },
    { flaws: ['forgetful'] },
    { flaws: ['forgetful', 'nameless'] },
  ])('bring at most one to life in any order of events, of a service that is $flaws', ({ flaws }) => {
    let tried = 0;
    const wrong: string[] = [];
    for (const order of orders(3)) {
      tried += 1;
      const flaw = wrongAfter(order, flaws);
      if (flaw !== undefined && wrong.length < 5) wrong.push(flaw);
    }

    process.stdout.write(`${tried} orders of ${events.length} events tried\n`);
    expect(wrong).toEqual([]);
  });
});
