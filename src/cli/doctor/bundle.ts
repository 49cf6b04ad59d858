/** A file for a bug report: a list of fields that may be in it, and nothing besides. */
import { isRecord, recordsIn } from '../../base/json.ts';
import type { KubeObject } from '../../engine/ports.ts';
import { conditionsOf } from '../cluster/objects.ts';
import type { CheckFinding } from './checks.ts';

/** The bundle as text: what was found, and of each resource its kind, name, conditions, drift and the call that is open. */
export function bundleOf(
  findings: readonly CheckFinding[],
  objects: readonly KubeObject[],
  about: { readonly version: string; readonly server: string; readonly at: string },
): string {
  const resources = objects.map((object) => {
    const { kind, metadata, status } = object;
    const shown = isRecord(status) ? status : {};
    const internal = isRecord(shown['internal']) ? shown['internal'] : {};
    const journal = isRecord(internal['journal']) ? internal['journal'] : undefined;
    return {
      kind,
      namespace: metadata.namespace,
      name: metadata.name,
      generation: metadata.generation,
      created: metadata.creationTimestamp,
      deleted: metadata.deletionTimestamp,
      finalizers: metadata.finalizers,
      observedGeneration: shown['observedGeneration'],
      // Messages may carry words of the service; types, reasons and times cannot.
      conditions: conditionsOf(object).map(({ type, status: state, reason, since }) => ({
        type,
        status: state,
        reason,
        since,
      })),
      ownership: internal['ownership'],
      journal: journal && {
        operation: journal['operation'],
        attempt: journal['attempt'],
        startedAt: journal['startedAt'],
      },
      drifted: recordsIn(shown, 'drift').map(({ field }) => field),
      unverified: Array.isArray(shown['unverified']) ? shown['unverified'] : [],
    };
  });
  const told = findings.map(({ code, verdict, object }) => ({ code, verdict, object }));
  return `${JSON.stringify({ format: 'apphosting-bundle', formatVersion: 1, ...about, findings: told, resources }, null, 1)}\n`;
}
