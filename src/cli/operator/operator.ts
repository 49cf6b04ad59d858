/**
 * Puts the operator together: its engine, its caches of Kubernetes objects, and the writers of status and events. The
 * clock and the connections to Kubernetes and to the service are passed in, so that a test can run the same operator in
 * memory on a virtual clock.
 */
import { Engine } from '../../engine/engine.ts';
import type { EngineOptions } from '../../engine/options.ts';
import { Outage } from '../../kube/outage.ts';
import { resourceOf } from '../../engine/kind/contract/define.ts';
import type { KubeApi, Resource } from '../../engine/ports.ts';
import { EventPublisher } from '../../kube/events.ts';
import { agesOf, complaintsOf, Reflector } from '../../kube/reflector.ts';
import { KubeMaterial } from '../../kube/material.ts';
import { KubeObjectWriter } from '../../kube/object-writer.ts';

/**
 * Everything that is needed to create an operator: the settings and parts of its engine, and the access to Kubernetes.
 */
export interface OperatorOptions extends Omit<EngineOptions, 'settings' | OwnPart> {
  readonly settings: Omit<EngineOptions['settings'], 'seesAll'>;
  readonly api: KubeApi;
  /** The name of this operator process; each Kubernetes event that the process writes contains the name. */
  readonly instance: string;
  /** The only namespace that the operator watches; undefined for all namespaces. */
  readonly namespace: string | undefined;
  readonly selector: string | undefined;
  readonly secretWatch: 'on' | 'off';
}

/** The parts of the engine that `createOperator` makes itself, so its caller does not pass them. */
type OwnPart = 'writer' | 'material' | 'events' | 'troubles' | 'labelsOf' | 'serverDate';

/**
 * An operator that `createOperator` has made: its engine, and
 * functions to start it, to stop it and to ask for its health.
 */
export type Operator = ReturnType<typeof createOperator>;

/** The name of the operator, of its lease and of its ServiceAccount. */
export const operatorName = 'apphosting-operator';

/** The API resource of namespaces, which the operator watches for their labels. */
export const namespaceResource: Resource = { group: '', version: 'v1', plural: 'namespaces', namespaced: false };

/** Creates an operator from its parts. The operator does nothing until `watch` and `act` are called. */
export function createOperator(options: OperatorOptions) {
  const { api, clock, entropy, log, namespace } = options;
  const kinds = options.kinds.filter((kind) => namespace === undefined || kind.scope === 'Namespaced');
  const troubles = new Outage(clock, log, (who) => engine.again(who));
  const around = { api, clock, entropy, log, troubles };
  /**
   * Called when one watch finds that the cluster was restored to an older state. Tells the engine and all other
   * watches, because their own lists may not reveal the restore.
   */
  const rewound = (by?: string): void => {
    engine.rewound();
    for (const cache of caches) if (cache.name !== by) cache.rewound();
  };
  const scope = namespace === undefined ? {} : { namespace };
  const events = new EventPublisher({
    ...around,
    controller: 'apphosting.dev/operator',
    instance: options.instance,
    onDrop: (why) => options.metrics.count('apphosting_events_dropped_total', { why }),
  });
  const resources = new Map(kinds.map((kind) => [kind.kind, resourceOf(kind)]));
  const writer = new KubeObjectWriter({ ...around, resourceOf: (object) => found(resources, object.kind) });
  const material = new KubeMaterial({
    ...around,
    ...scope,
    watch: options.secretWatch,
    onRewind: rewound,
    isUsed: (one) => engine.usesMaterial(one),
    onChanged: (one) => engine.materialChanged(one),
  });
  const labels =
    namespace === undefined
      ? new Reflector({
          ...around,
          resource: namespaceResource,
          metadataOnly: true,
          onEvent: ({ object }) => engine.namespaceChanged(object.metadata.name),
          onRewind: rewound,
        })
      : undefined;
  const engine: Engine = new Engine({
    ...options,
    kinds,
    troubles,
    events,
    writer,
    material,
    labelsOf: (name) => labels?.get(undefined, name)?.metadata.labels ?? (labels === undefined ? undefined : {}),
    settings: { ...options.settings, seesAll: options.selector === undefined },
    serverDate: () => api.serverDate?.(),
  });
  const reflectors = kinds.map(
    (kind) =>
      new Reflector({
        ...around,
        ...scope,
        resource: resourceOf(kind),
        isKeptElsewhere: true,
        ...(options.selector !== undefined && { labelSelector: options.selector }),
        onEvent: (event) => engine.observe(event),
        onRewind: rewound,
      }),
  );
  const own = [...reflectors, ...(labels === undefined ? [] : [labels])];
  const caches = [...own, ...material.reflectors];
  return {
    engine,
    /** Starts the watches. The operator then only watches: it changes nothing until `act` is called. */
    watch: () => {
      for (const reflector of own) reflector.start();
      material.start();
    },
    /** Resolves when every cache has received its first list. */
    synced: async () => {
      await Promise.all(caches.map((cache) => cache.synced));
    },
    /**
     * Starts to reconcile. If `takeOverMs` is not 0, the operator first waits this long before it sends calls that must
     * not be sent twice, because an earlier leader may still have such calls under way. `takeOver` in the engine says
     * which calls wait.
     */
    act: (takeOverMs: number) => {
      if (takeOverMs > 0) engine.takeOver(takeOverMs);
      engine.start();
    },
    /** Makes all watches list their objects again; call this when the cluster was restored to an older state. */
    rewound: () => rewound(),
    /** Lists the reasons why the operator is not ready, one sentence each. */
    complaints: () => complaintsOf(caches, clock),
    /** Returns for each watch how long ago Kubernetes last sent something. */
    ages: () => agesOf(caches, clock),
    stop: async () => {
      await engine.stop();
      await Promise.all([...caches.map((cache) => cache.stop()), material.stop()]);
      await events.close(2_000);
    },
  };
}

function found(resources: ReadonlyMap<string, Resource>, kind: string): Resource {
  const resource = resources.get(kind);
  if (resource === undefined) throw new Error(`the operator has no kind ${kind}`);
  return resource;
}
