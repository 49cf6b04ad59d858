/**
 * Which changes of an app are applied at once, where its spec asks for that.
 *
 * Guarantees: the app's own image does not take the place of one that an AppEnvironment deploys, and taking an app over deploys
 * only what shows to differ: a status that was lost does not restart what runs.
 *
 * Why: docs/design/deployments.md#taking-an-app-over-deploys-only-what-shows-to-differ
 */
import type { Fields } from '../../engine/kind/planner/plan.ts';
import { isDeployedByEnvironment, type AppPass } from './environments.ts';
import { converts, goesAlong, isHidden } from './fields.ts';

/** True if a request with these changes applies them at once. */
export function isAppliedAtOnce(changed: Fields, pass: AppPass): boolean {
  if (pass.spec.applyImmediately !== true || replacing(changed, pass).length > 0) return false;
  return !isTakenOver(pass) || visible(changed, pass).length > 0;
}

/** Those of the changed fields that need a request of their own before the others; undefined where all go in one. */
export function sentFirst(changed: Fields, pass: AppPass): readonly string[] | undefined {
  const all = Object.keys(changed);
  const first = firstOf(changed, pass);
  return first.length === 0 || first.length === all.length ? undefined : first;
}

function firstOf(changed: Fields, pass: AppPass): readonly string[] {
  // An app becomes a function, or stops being one, in a request that changes nothing else.
  if (converts(changed, pass)) return ['preset'];
  if (pass.spec.applyImmediately !== true) return [];
  // While the app builds from source, applying at once would deploy the build.
  const held = replacing(changed, pass);
  if (held.length > 0) return held;
  // Send the visible change first: it deploys everything that is pending by then.
  return isTakenOver(pass) ? visible(changed, pass) : [];
}

/** True for fields of the app's own image. */
export function isAboutImage(field: string): boolean {
  return field === 'useImage' || field === 'image.reference';
}

/** The changed fields by which the app's own image would take the place of an AppEnvironment's. */
function replacing(changed: Fields, pass: AppPass): readonly string[] {
  const fields = Object.keys(changed).filter((field) => isAboutImage(field));
  return fields.length > 0 && isDeployedByEnvironment(pass) ? fields : [];
}

/** The changed fields whose difference the service shows, with the fields that must be sent in the same request. */
function visible(changed: Fields, pass: AppPass): readonly string[] {
  const shown = Object.fromEntries(Object.entries(changed).filter(([field]) => !isHidden(field, pass)));
  const along = goesAlong(shown, pass);
  return Object.keys(changed).filter((field) => field in shown || field in along);
}

/** True for an app that was adopted and has not been sent anything since. */
export function isTakenOver({ memory: { ownership, applied } }: AppPass): boolean {
  return ownership === 'Adopted' && (applied?.generation ?? -1) === -1;
}
