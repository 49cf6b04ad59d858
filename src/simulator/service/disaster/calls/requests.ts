// Handles the requests that change protections. Configure, validate, activate and discard-activation return a receipt, which says that the
// operation is accepted, not that it is done. The receipt is stored under the requestId, which is unique within an account. A repeated
// request with the same payload gets the same receipt; a different payload under the same requestId is rejected. A reset has no requestId:
// the client sends a confirmation name, and repeats the reset until the cleanup is done.
import { accountNamed, adminOf } from '../../accounts/access.ts';
import { type AreaAnswer, type AreaCall, ok } from '../../area.ts';
import { onlyFields, required, text } from '../../../http/fields.ts';
import { found, invalid, notFound, RequestRefusal } from '../../../http/refusal.ts';
import { date, rejected, rejectIf } from '../../shape.ts';
import type { World } from '../../../store/store.ts';
import type { CallRecord, Configuration, RetainedSource } from '../model.ts';
import { begin, operationOf } from '../operations.ts';
import { protect, settleNames } from '../protection.ts';
import { callId, configurationOf, configurations, journaledCalls, keep, protectionOf, wipe } from '../rows.ts';
import { acceptActivation, acceptDiscard, fence, ownedDestinations } from '../rules.ts';
import { pointFor, refusedAtAll, refusedDiscard, refusedReset, refusedValidation, wiped } from '../rules.ts';
import { environmentIn } from '../source.ts';
import { activateBody, type AskedNames, type AskedSettings, configureBody, type ConfigureItem } from '../bodies.ts';
import { discardBody, resetBody, validateBody } from '../bodies.ts';
import { receiptItem } from './items.ts';

/**
 * Handles POST /disaster-readiness/configure with up to 100 items. An item that breaks a rule is refused, while the other items are
 * accepted.
 */
export function configure(call: AreaCall): AreaAnswer {
  const { world } = call;
  const accountId = accountOfAdmin(call);
  const { common, items } = configureBody(call.body);
  const results = items.map((item) => {
    const { sourceAppEnvId } = item;
    try {
      return { sourceAppEnvId, success: true, ...configureOne(world, accountId, common, item) };
    } catch (error) {
      if (error instanceof RequestRefusal) return { sourceAppEnvId, success: false, error: error.message };
      throw error;
    }
  });
  return ok({ [world.readings['configure.results']]: results });
}

function configureOne(world: World, accountId: string, common: AskedSettings, item: ConfigureItem) {
  const { sourceAppEnvId, requestId, expectedGeneration, ...own } = item;
  const asked = { ...common, ...own };
  const payload = [sourceAppEnvId, expectedGeneration, effective(asked)];
  return once(world, { accountId, requestId, call: 'configure', payload }, () => {
    const environment = found(environmentIn(world, accountId, sourceAppEnvId), 'environment not found');
    return protect(world, protectionOf(world, sourceAppEnvId), { environment, expectedGeneration, asked });
  });
}

/** Returns the settings of a configure item in a fixed order, so that two requests with the same requestId can be compared. */
function effective(asked: AskedSettings): readonly unknown[] {
  const { target } = asked;
  const names = target && [target.envName?.trim(), target.createNewApp === true, target.appName?.trim()];
  return Object.entries({ ...asked, target: names ?? null }).toSorted(([one], [other]) => (one < other ? -1 : 1));
}

/** Handles POST /disaster-readiness/validate: accepts an isolated validation of the protected recovery point. */
export function validate(call: AreaCall): AreaAnswer {
  const { world } = call;
  const configuration = named(call);
  const { accountId, configurationId } = configuration;
  const { expectedGeneration, requestId } = validateBody(call.body, '');
  const payload = [configurationId, expectedGeneration];
  const receipt = once(world, { accountId, requestId, call: 'validate', payload }, () => {
    rejectIf(world, refusedValidation(configuration, expectedGeneration));
    return begin(world, configuration, 'validation', 'validation.accepted');
  });
  return ok(receipt);
}

/** Handles POST /disaster-readiness/activate: accepts the recovery of an environment from a recovery point. */
export function activate(call: AreaCall): AreaAnswer {
  const { world } = call;
  const configuration = named(call);
  const { accountId, source } = configuration;
  const { requestId, target, ...body } = activateBody(call.body, '');
  const request = { ...body, ...settledTarget(world, source, target) };
  const payload = { writerSafetyAcknowledged: false, ...request, cutoffAt: date(world, request.cutoffAt) };
  const receipt = once(world, { accountId, requestId, call: 'activate', payload }, () =>
    acceptActivation(world, configuration, pointFor(world, configuration, request), request.target),
  );
  const receipts = { full: receipt, idOnly: { operationId: receipt.operationId }, opaque: {} };
  return ok(receipts[world.readings['activate.receipt']]);
}

function settledTarget(world: World, source: RetainedSource, asked: AskedNames | null | undefined) {
  if (asked === undefined || asked === null) throw rejected(world, 'an activation needs a target');
  const target = settleNames(asked, source);
  if (target === undefined) throw invalid('target needs envName; it also needs appName if a new app is created');
  const appName = asked.appName?.trim() ?? '';
  return target.createNewApp || appName === '' ? { target } : { target, unusedAppName: appName };
}

/** Handles POST /disaster-readiness/discard-activation: accepts the discard of an activation whose environment is not live yet. */
export function discardActivation(call: AreaCall): AreaAnswer {
  const { world } = call;
  const configuration = named(call);
  const { accountId, configurationId } = configuration;
  const { requestId, operationId, expectedGeneration } = discardBody(call.body, '');
  const payload = [configurationId, expectedGeneration, operationId];
  const discard = () => {
    const operation = found(operationOf(configuration, operationId), 'operation not found');
    rejectIf(world, refusedAtAll(configuration, expectedGeneration) ?? refusedDiscard(world, configuration, operation));
    return acceptDiscard(configuration, operation, world.now);
  };
  return ok(once(world, { accountId, requestId, call: 'discard', payload }, discard, operationId));
}

/**
 * Returns the accountId in the body of a request; fails unless the caller is an admin of this account. Also fails if the request has query
 * parameters, because these requests take none.
 */
function accountOfAdmin(call: AreaCall): string {
  const accountId = required(call.body, 'accountId', text());
  adminOf(call, accountId);
  onlyFields(call.query, 'query', []);
  return accountId;
}

/** Finds the configuration whose id is in the body of a request; fails unless the caller is an admin of its account. */
function named(call: AreaCall): Configuration {
  const accountId = accountOfAdmin(call);
  const configuration = configurationOf(call.world, required(call.body, 'configurationId', text()));
  if (configuration?.accountId !== accountId) throw notFound('configuration not found');
  return configuration;
}

/**
 * Carries out a request and stores its receipt under the requestId. If the requestId already has a receipt, nothing is
 * carried out: the same payload gets this receipt again, and a different payload is rejected. The receipt contains the
 * id of an operation: `operationNamed`, by default the newest operation of the configuration.
 */
function once(
  world: World,
  request: Pick<CallRecord, 'accountId' | 'requestId' | 'call'> & { readonly payload: object },
  carryOut: () => Configuration,
  operationNamed?: string,
): ReturnType<typeof receiptItem> {
  const { accountId, requestId, call } = request;
  const payload = JSON.stringify(request.payload);
  const before = world.of(journaledCalls).get(callId(accountId, requestId));
  if (before?.call === call && before.payload === payload) return receiptItem(world, before.receipt);
  if (before !== undefined) throw rejected(world, 'this requestId was already used for a different request');
  const configuration = carryOut();
  keep(world, configuration, requestId);
  const { configurationId, generation, operations } = configuration;
  const operationId = operationNamed ?? operations.at(-1)?.operationId ?? '';
  const phase = operationOf(configuration, operationId)?.phase ?? 'queued';
  const receipt = { configurationId, operationId, generation, phase };
  world.of(journaledCalls).put({ accountId, requestId, call, payload, receipt });
  return receiptItem(world, receipt);
}

// Handles POST /disaster-readiness/reset, which removes protections. A reset is rejected while an activation is
// running, unless enough steps of this activation have failed.

/** Handles a reset: removes the protection of one environment, or all protections of an account. */
export function reset(call: AreaCall): AreaAnswer {
  const { world } = call;
  const accountId = accountOfAdmin(call);
  const account = accountNamed(world, accountId);
  const environment = call.body['scope'] === 'environment' ? environmentOf(call, accountId) : undefined;
  const { scope, confirmationName, sourceAppEnvId } = resetBody(call.body, '');
  if (scope === 'account' && sourceAppEnvId !== undefined) {
    throw invalid('sourceAppEnvId is not allowed with scope account');
  }
  if (confirmationName !== (environment?.name ?? account.name))
    throw rejected(world, 'confirmationName must be the exact name of the environment or account to reset');
  return wipeAll(world, environment?.protections ?? protectionsOf(world, accountId));
}

/** Finds the environment to reset and its protection. If the environment was deleted, its name is taken from the protection. */
function environmentOf({ world, body }: AreaCall, accountId: string) {
  const sourceAppEnvId = required(body, 'sourceAppEnvId', text());
  const protection = protectionOf(world, sourceAppEnvId);
  const owned = protection?.accountId === accountId ? protection : undefined;
  const name = environmentIn(world, accountId, sourceAppEnvId)?.name ?? owned?.source.environmentName;
  if (name === undefined) throw notFound('environment not found');
  return { name, protections: owned === undefined ? [] : [owned] };
}

function protectionsOf(world: World, accountId: string): readonly Configuration[] {
  const rows = world.of(configurations).where('account', accountId);
  return rows.flatMap(({ configurationId }) => configurationOf(world, configurationId) ?? []);
}

function wipeAll(world: World, protections: readonly Configuration[]): AreaAnswer {
  if (protections.length === 0 && world.readings['reset.repeat'] === 'notFound')
    throw notFound('the environment or account has no protection to reset');
  for (const protection of protections) rejectIf(world, refusedReset(protection));
  if (protections.some(({ told }) => (told.pendingCleanup?.pendingCount ?? 0) > 0)) {
    return pending(world, protections);
  }
  for (const protection of protections) wipe(world, protection, wiped(protection));
  const destinations = protections.reduce((sum, protection) => sum + ownedDestinations(protection), 0);
  return ok({ configurations: protections.length, destinations });
}

/**
 * Stops all work of the given protections for good, and rejects the reset, because the provider still has an earlier
 * cleanup to finish (`told.pendingCleanup`). The client sends the same reset again later. Once the cleanup is finished,
 * the reset deletes the protections.
 */
function pending(world: World, protections: readonly Configuration[]): AreaAnswer {
  for (const protection of protections) keep(world, fence(protection, world.now));
  return { refusal: rejected(world, 'the provider has not finished its cleanup: send the same reset again later') };
}
