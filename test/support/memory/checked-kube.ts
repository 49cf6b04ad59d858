import { sameJson } from '../../../src/base/json.ts';
import type { KubeObject, Resource } from '../../../src/engine/ports.ts';
import { group } from '../../../src/engine/kind/contract/define.ts';
import { schemaFlaws, schemaOf } from '../definitions/structural.ts';
import { MemoryKube } from './memory-kube.ts';
import { statusFlaws } from './status-checker.ts';

const times = ['lastTransitionTime', 'startedAt', 'sentTime'];

/** A connection that looks at every status the operator writes; what is wrong with one stays in `flaws`. */
export class CheckedKube extends MemoryKube {
  readonly flaws: string[] = [];

  override replaceStatus(
    resource: Resource,
    namespace: string | undefined,
    name: string,
    object: unknown,
  ): Promise<KubeObject> {
    const before = this.cluster.get(resource, namespace, name);
    const { metadata, status } = object as KubeObject;
    // What another one has written in between is refused, and so is no write.
    const isCurrent = metadata.resourceVersion === before?.metadata.resourceVersion;
    if (resource.group === group && before !== undefined && isCurrent) this.#check(before, status);
    return super.replaceStatus(resource, namespace, name, object);
  }

  #check(before: KubeObject, status: unknown): void {
    const where = `${before.kind} ${before.metadata.name}`;
    const written: unknown = JSON.parse(JSON.stringify(status));
    const flaws = writtenFlaws(before, written);
    this.flaws.push(...flaws.map((flaw) => `${where}: ${flaw}: ${JSON.stringify(written)}`));
  }
}

/** What is wrong with a status that is written over an object, one sentence each. */
export function writtenFlaws(before: KubeObject, status: unknown): readonly string[] {
  const schema = schemaOf(before.kind)?.properties?.['status'] ?? {};
  const isTimeOnly = sameJson(before.status, status, times);
  return [
    ...statusFlaws(status, before.metadata.generation ?? 0, before.kind),
    ...schemaFlaws(schema, status, 'status'),
    ...(isTimeOnly ? ['nothing but a time is new'] : []),
  ];
}
