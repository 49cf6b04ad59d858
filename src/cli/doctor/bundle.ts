/** Builds a file for a bug report from a fixed list of fields, so that no secret gets into the file. */
import { isRecord, recordsIn } from '../../base/json.ts';
import type { ParsedObject } from '../../engine/objects/stored.ts';
import type { CheckFinding } from './checks.ts';

/**
 * Writes the file for a bug report as JSON text. It has the findings of all checks, and for each resource its kind,
 * name, conditions, drift and unfinished call.
 */
export function bundleOf(
  findings: readonly CheckFinding[],
  objects: readonly ParsedObject[],
  about: { readonly version: string; readonly server: string; readonly at: string },
): string {
  const resources = objects.map(({ kind, object: { metadata, status }, status: { memory, conditions, damaged } }) => {
    const shown = isRecord(status) ? status : {};
    const journal: unknown = memory.journal ?? damaged;
    return {
      kind: kind.kind,
      namespace: metadata.namespace,
      name: metadata.name,
      generation: metadata.generation,
      created: metadata.creationTimestamp,
      deleted: metadata.deletionTimestamp,
      finalizers: metadata.finalizers,
      observedGeneration: shown['observedGeneration'],
      // Leave out the messages of conditions, because they may quote texts of the service. The types, reasons and times
      // of conditions never quote the service.
      conditions: conditions.map(({ type, status: state, reason, lastTransitionTime: since }) => {
        return { type, status: state, reason, since };
      }),
      ownership: memory.ownership,
      journal: isRecord(journal)
        ? { operation: journal['operation'], attempt: journal['attempt'], startedAt: journal['startedAt'] }
        : undefined,
      drifted: recordsIn(shown, 'drift').map(({ field }) => field),
      unverified: Array.isArray(shown['unverified']) ? shown['unverified'] : [],
    };
  });
  const told = findings.map(({ code, verdict, object }) => ({ code, verdict, object }));
  const bundle = { format: 'apphosting-bundle', formatVersion: 1, ...about, findings: told, resources };
  return `${JSON.stringify(bundle, null, 1)}\n`;
}
