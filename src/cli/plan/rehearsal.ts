/**
 * Runs the real engine on objects in memory, a service in memory and a virtual clock until the engine sends nothing
 * more, and records its calls. The engine first runs with the objects before the change, then with those after it, so
 * only the calls of the second run are caused by the change.
 */
import { Engine } from '../../engine/engine.ts';
import { OperatorKey } from '../../engine/kind/planner/compare.ts';
import {
  keyOf,
  keyOfObject,
  parseStored,
  partsOfKey,
  referredBy,
  type ParsedObject,
} from '../../engine/objects/stored.ts';
import type { Hosting, Material, Outcome, Request, Service } from '../../engine/ports.ts';
import { openHosting } from '../../hosting/service.ts';
import { appEnvironment } from '../../kinds/app-environment/app-environment.ts';
import { hostedApp } from '../../kinds/hosted-app/hosted-app.ts';
import { kinds } from '../../kinds/index.ts';
import { isRecord, sameJson, Secret } from '../../base/json.ts';
import type { AccountReader } from '../account/reader.ts';
import { ObjectsInMemory } from '../in-memory/objects.ts';
import { SeededEntropy, settle, VirtualClock } from '../in-memory/virtual-clock.ts';
import { silent, unmeasured } from '../machine.ts';
import { operatorNamespace } from '../../config.ts';
import { materialsOf, tokenPrefix } from './materials.ts';
import { isIdUnknown, specOf, type Materials, type Scene } from './scenes.ts';
import { ServiceInMemory } from './service-in-memory.ts';

/** A call that the operator would send to the service. */
export interface PlannedCall {
  readonly caused: boolean;
  /** The key of the resource that the call is for: `Kind/namespace/name`. */
  readonly object: string;
  readonly request: Request;
  /** The object in the service as it was right before the call. */
  readonly before: Readonly<Record<string, unknown>> | undefined;
  readonly outcome: Outcome['is'];
  /**
   * The response that the plan assumes the service would give. New ids in it are made up, and exist only in this plan.
   */
  readonly answer: unknown;
}

/** The result of a rehearsal, in which the engine runs in memory to find out what it would send. */
export type Played = Readonly<Awaited<ReturnType<typeof rehearse>>>;

/**
 * When the engine has sent no call for this long, its work counts as finished. The time is long enough for several
 * polls, and for the two reads with a pause between them that prove that an object is absent.
 */
const quietMs = 420_000;
const longestMs = 6 * 3_600_000;

/** The message of a plan whose run of the engine ended at its time limit. */
export const notQuiet = 'the operator did not finish: it was still sending calls after six hours of simulated time';

/**
 * Runs the engine in memory with the objects before the change, if they are known, and then with the objects after it.
 * Returns the calls that the engine sent, the operator's objects at the end, and the messages of the reads that failed.
 * `isQuiet` is true if the engine stopped sending calls before the time limit.
 */
export async function rehearse(before: Scene | undefined, after: Scene, readers: readonly AccountReader[]) {
  const stage = new Stage(readers);
  try {
    let isQuiet = true;
    if (before !== undefined) {
      stage.set(before);
      isQuiet = await stage.untilQuiet();
      stage.own(before.objects);
      isQuiet = (await stage.untilQuiet()) && isQuiet;
    }
    stage.caused = true;
    stage.set(after);
    isQuiet = (await stage.untilQuiet()) && isQuiet;
    return { calls: stage.calls, objects: stage.objects(), failures: stage.failures(), isQuiet };
  } finally {
    await stage.stop();
  }
}

class Stage {
  readonly #clock: VirtualClock;
  readonly #objects: ObjectsInMemory;
  readonly #services: ReadonlyMap<string, ServiceInMemory>;
  readonly #readers: readonly AccountReader[];
  readonly #engine: Engine;
  readonly calls: PlannedCall[] = [];
  caused = false;
  #wanted: readonly ParsedObject[] = [];
  #materials: Materials = new Map();
  #lastCallAt = 0;
  #beganAt = 0;

  constructor(readers: readonly AccountReader[]) {
    this.#readers = readers;
    this.#clock = new VirtualClock(Math.max(0, ...readers.map(({ asOfMs }) => asOfMs)));
    this.#objects = new ObjectsInMemory(this.#clock, (event) => this.#engine.observe(event));
    const wallMs = () => this.#clock.wall();
    const environmentsOf = (app: string) => expectedOf(app, this.#wanted);
    this.#services = new Map(
      readers.map((reader) => [reader.accountId, new ServiceInMemory(reader, wallMs, environmentsOf)]),
    );
    const around = { clock: this.#clock, entropy: new SeededEntropy(2), log: silent, metrics: unmeasured };
    const hosting = openHosting({
      ...around,
      callDeadlineMs: 30_000,
      // Allow private addresses and this machine, because every request of a plan is answered in this process.
      hostRules: { allowedHosts: [], allowInsecureLoopback: true, allowPrivateAddresses: true, proxy: undefined },
      wire: async (request) => {
        const token = request.headers['authorization'] ?? '';
        const service = this.#services.get(token.slice(tokenPrefix.length));
        return service === undefined
          ? { failed: 'connection', message: 'there is no credential for this account' }
          : service.wire(request);
      },
    });
    this.#engine = new Engine({
      ...around,
      kinds,
      hosting: this.#watched(hosting),
      writer: this.#objects,
      material: this.#material(),
      events: { record: () => undefined },
      troubles: { failed: () => false, went: () => undefined },
      leadership: { mayAct: () => undefined },
      key: new OperatorKey(new Secret('key for plans')),
      operatorNamespace,
      labelsOf: () => ({}),
      settings: {
        horizonMs: 1_000,
        callDeadlineMs: 30_000,
        pollMs: 60_000,
        workers: 32,
        readOnly: false,
        seesAll: true,
        powers: { sinceMs: 0, activation: true, accountReset: true },
      },
    });
    this.#engine.start();
  }

  async stop(): Promise<void> {
    await Promise.race([this.#engine.stop(), this.#clock.advance(30_000)]);
  }

  failures(): readonly string[] {
    const services = [...this.#services.values()];
    return [...new Set(services.flatMap(({ failures }) => [...failures]))].toSorted();
  }

  /** Lists the objects by kind, and by name within each kind. */
  objects(): readonly ParsedObject[] {
    const all = this.#objects.all().toSorted((a, b) => (keyOfObject(a) < keyOfObject(b) ? -1 : 1));
    return kinds.flatMap((kind) =>
      all.filter((object) => object.kind === kind.kind).map((object) => parseStored(kind, object)),
    );
  }

  /**
   * Creates, changes and deletes objects in memory until exactly the objects of `scene` exist. A scene contains either
   * the objects before the planned change, or those after it.
   */
  set(scene: Scene): void {
    this.#wanted = scene.objects;
    this.#beganAt = this.#clock.monotonic();
    this.#lastCallAt = this.#beganAt;
    const materials = new Map([...this.#materials, ...materialsOf(scene, this.#readers)]);
    const changed = [...materials].filter(([key, values]) => !sameJson(values, this.#materials.get(key)));
    this.#materials = materials;
    for (const [key] of changed) {
      const { kind, namespace, name } = partsOfKey(key);
      this.#engine.materialChanged({ kind: kind === 'Secret' ? 'Secret' : 'ConfigMap', namespace, name });
    }
    const wanted = new Set(scene.objects.map(({ key }) => key));
    for (const key of this.#objects.all().map(keyOfObject)) if (!wanted.has(key)) this.#objects.delete(key);
    for (const { key, object } of scene.objects) {
      const { status: _stale, ...known } = object;
      this.#objects.apply(this.#objects.get(key) === undefined ? object : known);
    }
  }

  /**
   * Changes the ownership in status from Adopted to Created for resources that had neither a status nor
   * spec.externalId. In a plan, these resources adopt their objects by name, but in the cluster most of them have
   * created their objects. If a resource is deleted, the operator by default keeps an adopted object and deletes a
   * created one.
   */
  own(objects: readonly ParsedObject[]): void {
    for (const { key } of objects.filter(isIdUnknown)) {
      const known = this.#objects.get(key);
      const internal = isRecord(known?.status) ? known.status['internal'] : undefined;
      if (known === undefined || !isRecord(internal) || internal['ownership'] !== 'Adopted') continue;
      const status = { ...(known.status as object), internal: { ...internal, ownership: 'Created' } };
      this.#objects.apply({ ...known, status });
      this.#lastCallAt = this.#clock.monotonic();
    }
  }

  /** Advances the virtual clock until no more calls are made; returns false if there are still calls after `longestMs`. */
  async untilQuiet(): Promise<boolean> {
    for (;;) {
      await this.#rest();
      const now = this.#clock.monotonic();
      if (now - this.#lastCallAt >= quietMs) return true;
      if (now - this.#beganAt > longestMs) return false;
      const next = this.#clock.nextAt ?? now + 1_000;
      await this.#clock.advance(Math.max(1, next - now));
    }
  }

  /** Waits until all callbacks have run and every read that is under way is answered. */
  async #rest(): Promise<void> {
    await settle();
    for (;;) {
      const answered = await Promise.all([...this.#services.values()].map((service) => service.answered()));
      if (!answered.includes(true)) return;
      await settle();
    }
  }

  #material(): Material {
    const valuesOf = (kind: string, namespace: string, name: string) => {
      const values = this.#materials.get(keyOf(kind, namespace, name));
      return values && Object.entries(values);
    };
    return {
      secret: async (namespace, name) => {
        const values = valuesOf('Secret', namespace, name);
        return values && new Map(values.map(([field, value]) => [field, new Secret(value)]));
      },
      configMap: async (namespace, name) => {
        const values = valuesOf('ConfigMap', namespace, name);
        return values && new Map(values);
      },
    };
  }

  /**
   * Wraps the hosting layer, which sends requests to the service,
   * so that every call that changes something is recorded.
   */
  #watched(hosting: Hosting): Hosting {
    return {
      open: (settings, onList, onThrottled) => {
        const service = hosting.open(settings, (event) => onList({ ...event, service: outer }), onThrottled);
        if ('refused' in service) return service;
        const outer: Service = {
          ...service,
          send: async (request, options) => {
            const call = options.call;
            if (call === undefined || request.effect === 'read') return service.send(request, options);
            const before = await this.#services.get(settings.accountId)?.itemOf(request);
            const outcome = await service.send(request, options);
            if (outcome.is === 'notSent') return outcome;
            this.#lastCallAt = this.#clock.monotonic();
            const answer = outcome.is === 'committed' ? outcome.body : undefined;
            this.calls.push({ caused: this.caused, ...call, request, before, outcome: outcome.is, answer });
            return outcome;
          },
        };
        return outer;
      },
    };
  }
}

/**
 * Lists the environments that the manifests contain for the app with this name. If the manifests contain none, returns
 * one environment with the name `?`, which stands for an unknown name.
 */
function expectedOf(app: string, objects: readonly ParsedObject[]): readonly Readonly<Record<string, unknown>>[] {
  const isApp = (one: ParsedObject) => (specOf(one)['name'] ?? one.object.metadata.name) === app;
  const keys = new Set(objects.filter((one) => one.kind === hostedApp && isApp(one)).map(({ key }) => key));
  const found = objects.flatMap((one) => {
    if (one.kind !== appEnvironment || !referredBy(one).some((key) => keys.has(key))) return [];
    const { environmentName = '?', cliEnvironmentName } = specOf(one);
    return [{ name: environmentName, ...(cliEnvironmentName !== undefined && { cliEnvName: cliEnvironmentName }) }];
  });
  return found.length === 0 ? [{ name: '?' }] : found;
}
