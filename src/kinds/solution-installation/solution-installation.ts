import { sameJson, Secret } from '../../base/json.ts';
import { boundTo, notGranted } from '../../engine/kind/planner/create.ts';
import { claimedByOlder } from '../../engine/kind/planner/planner.ts';
import { stateOfHidden } from '../../engine/kind/planner/compare.ts';
import { defineKind } from '../../engine/kind/contract/define.ts';
import { readUnread } from '../../engine/kind/planner/observe.ts';
import { type OwnCondition, about } from '../../engine/kind/contract/step.ts';
import { appEnvsOf, appsOf, solutionsOf } from '../../hosting/requests.ts';
import { nearest } from '../shared/nearest.ts';
import { SolutionInstallationFacts, SolutionInstallationSpec } from './schema.ts';
import { asApplied, create, inputsOf, install, leftBehind, leftFingerprints, resolveInstallation } from './calls.ts';
import { resolveUpgrade, upgrade, wantedOf } from './calls.ts';
import {
  awaitComponents,
  completed,
  lookForComponents,
  statesOf,
  type SolutionPass,
  type SolutionStep,
} from './components.ts';
import { needsOf } from '../../engine/kind/schema/schema.ts';

/** Inputs that a solution does not require if the input agentAuthenticationMode is PERSONAL_SUBSCRIPTION. */
const notPersonal = ['llmProviderKeyId', 'agentPrimaryModel', 'agentSecondaryModel'];

function step(pass: SolutionPass): SolutionStep {
  const { subject, spec, memory } = pass;
  if (subject.deleting) return { is: 'release' };
  const { externalId } = spec;
  const isOther = externalId !== undefined && externalId !== memory.id;
  if (isOther && memory.id !== undefined && memory.facts.complete !== undefined) {
    const message = `spec.externalId names installation ${externalId}, but this resource has installation ${memory.id}; undo the change, or create another resource for the other installation`;
    return { is: 'stall', reason: 'Immutable', message };
  }
  const id = externalId ?? memory.id;
  const claimed = id === undefined ? undefined : claimedByOlder(pass, id, `installation ${id}`, 'installation');
  if (claimed !== undefined) return claimed;
  if (isOther) return resume(pass, externalId);
  if (memory.journal?.operation === 'upgrade') return resolveUpgrade(pass, memory.journal);
  if (memory.journal !== undefined) return resolveInstallation(pass, memory.journal);
  if (memory.facts.complete === true) return keep(pass);
  return admit(pass) ?? (memory.id === undefined ? create(pass, 1) : install(pass));
}

/** Binds the resource to the installation that spec.externalId names. */
function resume(pass: SolutionPass, id: string): SolutionStep {
  const known = pass.memory.id === undefined && pass.memory.facts.complete !== undefined;
  const isForeign = !known && pass.memory.journal === undefined;
  const refused = isForeign && notGranted(`spec.externalId names installation ${id}`, pass.account);
  if (refused) return refused;
  return { is: 'again', remember: boundTo(pass, id, 'Adopted') };
}

/**
 * Returns a `stall` step, before anything is sent, if the catalog does not have the solution, or if a required input is
 * missing.
 */
function admit(pass: SolutionPass): SolutionStep | undefined {
  const { spec, view, account } = pass;
  const read = solutionsOf(account.accountId);
  const catalog = view.all(read);
  if (catalog === undefined) return readUnread(pass, [read]);
  const solution = catalog.items.get(spec.solution);
  if (solution === undefined) {
    const near = nearest(spec.solution, catalog.items.keys());
    const hint = near === undefined ? '' : `; did you mean ${near}?`;
    const message = `the catalog has no solution "${spec.solution}"${hint}`;
    return { is: 'stall', reason: 'UnknownSolution', message };
  }
  const inputs = inputsOf(pass);
  const mode = inputs['agentAuthenticationMode'];
  const isPersonal = (mode instanceof Secret ? mode.reveal() : mode) === 'PERSONAL_SUBSCRIPTION';
  const missing = solution.requiredInputs.filter(
    (name) => inputs[name] === undefined && !(isPersonal && notPersonal.includes(name)),
  );
  if (missing.length === 0) return undefined;
  const message = `spec.inputs lacks ${missing.join(', ')}, which solution ${spec.solution} requires`;
  return { is: 'stall', reason: 'InvalidSpec', message };
}

/** Decides the next step once the service has reported the installation as complete. */
function keep(pass: SolutionPass): SolutionStep {
  const { memory, spec } = pass;
  const wanted = Object.entries(wantedOf(pass));
  const changed = wanted
    .filter(([field, value]) => stateOfHidden(pass, field, pass.fingerprint(value)) === 'unsent')
    .map(([field]) => field);
  const fixed = [...changed, ...Object.keys(leftFingerprints(pass))].filter((field) => field !== 'inputs.agentImage');
  if (fixed.length > 0) {
    const message = `${fixed.join(', ')} cannot be changed after the solution is installed; only inputs.agentImage can be changed`;
    return { is: 'stall', reason: 'Immutable', message };
  }
  if (changed.length > 0 && memory.id === undefined) {
    const message =
      'inputs.agentImage has changed, but the operator cannot upgrade without the id of the installation; set spec.externalId to that id';
    return { is: 'stall', reason: 'InstallationIdUnknown', message };
  }
  const { accountId } = pass.account;
  const missing = readUnread(pass, [appsOf(accountId), appEnvsOf(accountId)]) ?? lookForComponents(pass);
  if (missing !== undefined) return missing;
  const components = completed(pass);
  if (!sameJson(components, memory.facts.components ?? [])) {
    return { is: 'again', remember: { facts: { ...memory.facts, components } } };
  }
  // Upgrade only after all components were found. If a component is missing, the service reacts to the same request by
  // creating the component, and does not set the image.
  if (changed.length > 0) return upgrade(pass);
  const { generation, fingerprints } = asApplied(pass);
  const applied = { generation, fingerprints: { ...leftFingerprints(pass), ...fingerprints } };
  if (!sameJson(applied, memory.applied)) return { is: 'again', remember: { applied } };
  const moving = awaitComponents(pass);
  if (moving !== undefined) return moving;
  if (memory.ownership === 'Presumed') return onlyPresumed(pass);
  const note = isDone(pass) ? undefined : memory.facts.postInstallNote;
  const message =
    note === undefined
      ? `${spec.solution} is installed`
      : `the solution is installed; you still have to do this step: ${note}`;
  return { is: 'ready', message, note: {} };
}

/**
 * Reports the installation as Ready although its id is not known. The message names the components that are presumed to
 * come from the installation.
 */
function onlyPresumed({ spec, memory }: SolutionPass): SolutionStep {
  const made = (memory.facts.components ?? []).map(({ name, appId }) => `${name} (${appId})`);
  const message = `the outcome of the installation of "${spec.appName}" is not known; ${made.join(', ')} can only come from this installation, so the operator treats them as its components. To upgrade the solution, set spec.externalId to the id of the installation`;
  return { is: 'ready', reason: 'Presumed', message, note: {} };
}

/** The annotation by which a person confirms that the step in the service's post-install note is done. */
export const doneAnnotation = 'apphosting.dev/post-install-done';

function isDone({ subject }: SolutionPass): boolean {
  return subject.annotations[doneAnnotation] === 'true';
}

/**
 * Builds the condition `PostInstallPending`. It is True if the response to the installation request asks for a further
 * step, and no person has confirmed this step yet.
 */
function postInstall(pass: SolutionPass): OwnCondition {
  const pending = about('PostInstallPending');
  const { postInstallNote, complete } = pass.memory.facts;
  if (complete === undefined) return pending.unknown('ReadingService', 'the service has not answered yet');
  if (isDone(pass))
    return pending.no('NothingToDo', `the annotation ${doneAnnotation} says that nothing is left to do`);
  const look = `status may lack a note that asks you to do a further step; look for the note in the service's console and do what it says, then annotate this resource with ${doneAnnotation}: "true"`;
  if (pass.memory.ownership === 'Presumed')
    return pending.unknown('Presumed', `the outcome of the installation is not known, and ${look}`);
  if (postInstallNote === undefined) {
    const hasSecret = pass.spec.inputs?.some(({ valueFrom }) => valueFrom?.secretKeyRef !== undefined) === true;
    const why = 'an input comes from a Secret, so that the texts of the response are not shown';
    return hasSecret
      ? pending.unknown('NotDisclosed', `${why}: ${look}`)
      : pending.no('NothingToDo', 'status names no further step');
  }
  const message = `${postInstallNote.replace(/\.$/, '')}; once this step is done, annotate this resource with ${doneAnnotation}: "true"`;
  return pending.yes('ToBeDoneByYou', message);
}

/**
 * The service's error messages may name one input of a solution in several ways. Returns each way, with the path in the
 * spec that replaces it in the message. A name that is an ordinary word is replaced only after `inputs.`, because
 * elsewhere it may mean something else.
 */
function inputWords({ name }: { readonly name: string }): readonly (readonly [string, string])[] {
  const place = `inputs (${name})`;
  return [[`inputs.${name}`, place], ...(/[a-z][A-Z]/.test(name) ? [[name, place] as const] : [])];
}

/** The SolutionInstallation kind: a curated set-up of several components, installed in one step. */
export const solutionInstallation = defineKind<SolutionInstallationSpec, SolutionInstallationFacts>({
  kind: 'SolutionInstallation',
  plural: 'solutioninstallations',
  shortNames: ['soln'],
  scope: 'Namespaced',
  summary: 'A curated set-up of one or more connected components, installed in one step.',
  life: 'long',
  spec: SolutionInstallationSpec,
  facts: SolutionInstallationFacts,
  idWord: 'installationId',
  holds: false,
  columns: [
    { name: 'SOLUTION', path: '.spec.solution', description: 'The solution.' },
    { name: 'COMPONENTS', path: '.status.componentsRunning', description: 'Running components, such as 2/3.' },
    { name: 'REGION', path: '.spec.region', wide: true, description: 'The region where the solution is installed.' },
  ],
  selectable: ['.spec.solution', '.spec.region', '.status.externalId'],
  needs: ({ inputs = [] }) => needsOf(inputs.map((input) => [`inputs (${input.name})`, input])),
  claims: ({ externalId }) => (externalId === undefined ? [] : [externalId]),
  made: ({ components = [] }) => components.flatMap(({ appId }) => appId ?? []),
  leaves: leftBehind,
  always: ['PostInstallPending'],
  interfaceWords: ({ inputs = [] }) => ({
    solutionSlug: 'solution',
    installationId: 'externalId',
    ...Object.fromEntries(inputs.flatMap(inputWords)),
  }),
  step,
  show: (pass) => ({
    facts: { ...pass.memory.facts, ...statesOf(pass) },
    conditions: [postInstall(pass)],
    unverified: Object.keys(wantedOf(pass)).toSorted(),
    leftover: Object.keys(leftFingerprints(pass)).toSorted(),
  }),
});
