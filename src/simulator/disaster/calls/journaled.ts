// POST validate, activate and discard-activation: each commits one operation under its requestId and answers with a
// receipt, which says that the work is journaled, not that it is done.
import { type AreaAnswer, type AreaCall, ok } from '../../area.ts';
import { required, text } from '../../http/fields.ts';
import { invalid, notFound } from '../../http/refusal.ts';
import { date, rejected } from '../../public/shape.ts';
import { type ActivationRequest, admitActivation, admitDiscard, refusedValidation } from '../activation.ts';
import { activateBody, discardBody, validateBody } from './bodies.ts';
import { beginCheck } from '../schedule.ts';
import { receiptItem } from './items.ts';
import { type Accepted, accountOfAdmin, asRefusal, once } from './journaling.ts';
import type { CallRecord, Configuration, ReceiptRecord, Refused } from '../model.ts';
import type { OperationOutcome } from '../operations.ts';
import { acceptActivation, acceptDiscard } from '../recovery.ts';
import { configurationOf } from '../rows.ts';
import { settleNames } from '../settings.ts';
import { activationFacts, momentOf } from '../surroundings.ts';

/** Asks for an isolated check of the protected point. */
export function validate(call: AreaCall): AreaAnswer {
  const { world } = call;
  const configuration = named(call);
  const { expectedGeneration, requestId } = validateBody(call.body, '');
  const receipt = journaled(call, 'validate', configuration, requestId, [expectedGeneration], () => {
    const refusal = refusedValidation(configuration, expectedGeneration);
    if (refusal !== undefined) return refusal;
    return withLatest(beginCheck(configuration, momentOf(world, configuration), false));
  });
  return ok(receiptItem(receipt, world));
}

/** Asks for a recovered environment to become live. */
export function activate(call: AreaCall): AreaAnswer {
  const { world } = call;
  const configuration = named(call);
  const { requestId, ...body } = activateBody(call.body, '');
  const request = activationRequest(call, configuration, body);
  const { target } = request;
  const payload = Object.entries({ ...request, cutoffAt: date(world, request.cutoffAt) });
  const receipt = journaled(call, 'activate', configuration, requestId, [payload], () => {
    const point = admitActivation(configuration, request, activationFacts(world, configuration, target));
    if ('refused' in point) return point;
    return withLatest(acceptActivation(configuration, point, target, momentOf(world, configuration)));
  });
  const receipts = { full: receiptItem(receipt, world), idOnly: { operationId: receipt.operationId }, opaque: {} };
  return ok(receipts[world.readings['activate.receipt']]);
}

function activationRequest(
  { world }: AreaCall,
  { source }: Configuration,
  body: Omit<ReturnType<typeof activateBody>, 'requestId'>,
): ActivationRequest {
  const { expectedGeneration, selectedOperationId, pointId, cutoffAt, writerSafetyAcknowledged = false } = body;
  const asked = body.target ?? undefined;
  if (asked === undefined) throw rejected(world, 'an activation needs a target');
  const target = settleNames(asked, source);
  if (target === undefined) throw invalid('target needs envName, and appName where a new app is created');
  const appName = asked.appName?.trim() ?? '';
  const unused = target.createNewApp || appName === '' ? {} : { unusedAppName: appName };
  return { expectedGeneration, selectedOperationId, pointId, cutoffAt, target, ...unused, writerSafetyAcknowledged };
}

/** Gives an activation up before it is live. */
export function discardActivation(call: AreaCall): AreaAnswer {
  const { world } = call;
  const configuration = named(call);
  const { requestId, ...request } = discardBody(call.body);
  const payload = [request.expectedGeneration, request.operationId];
  const receipt = journaled(call, 'discard', configuration, requestId, payload, () => {
    const operation = admitDiscard(configuration, request, world.readings['discard.window']);
    if ('refused' in operation) return operation;
    return { ...acceptDiscard(configuration, operation, world.now), operationId: operation.operationId };
  });
  return ok(receiptItem(receipt, world));
}

/** The configuration that a request of its account's admin names. */
function named(call: AreaCall): Configuration {
  const accountId = accountOfAdmin(call);
  const configuration = configurationOf(call.world, required(call.body, 'configurationId', text()));
  if (configuration?.accountId !== accountId) throw notFound('configuration not found');
  return configuration;
}

function journaled(
  { world }: AreaCall,
  call: CallRecord['call'],
  { accountId, configurationId }: Configuration,
  requestId: string,
  asked: readonly unknown[],
  carryOut: () => Accepted | Refused,
): ReceiptRecord {
  const payload = JSON.stringify([configurationId, ...asked]);
  const receipt = once(world, { accountId, requestId, call, payload }, carryOut);
  if ('refused' in receipt) throw asRefusal(world, receipt);
  return receipt;
}

function withLatest(outcome: OperationOutcome): Accepted {
  return { ...outcome, operationId: outcome.configuration.operations.at(-1)?.operationId ?? '' };
}
