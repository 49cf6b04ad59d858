// POST validate, activate and discard-activation: each commits one operation under its requestId and answers with a
// receipt, which says that the work is journaled, not that it is done.
import type { AreaAnswer, AreaCall } from '../../area.ts';
import { ok } from '../../area.ts';
import { required, text } from '../../http/fields.ts';
import { invalid } from '../../http/refusal.ts';
import { date, rejected } from '../../public/shape.ts';
import type { World } from '../../store/store.ts';
import { type ActivationRequest, admitActivation, admitDiscard, refusedValidation } from '../activation/admission.ts';
import { type ActivateBody, activateBody, discardBody, validateBody } from './bodies.ts';
import { beginCheck } from '../progress/schedule.ts';
import { receiptItem } from '../lists/items.ts';
import {
  accountOfAdmin,
  asRefusal,
  committed,
  configurationNamed,
  journal,
  type CallReference,
  viewOf,
} from './journaling.ts';
import type { ConfigurationRecord, ReceiptRecord, Refused } from '../model.ts';
import type { OperationOutcome } from '../operations.ts';
import { operationOf } from '../operations.ts';
import { acceptActivation, acceptDiscard } from '../activation/recovery.ts';
import { keep } from '../rows.ts';
import { settleNames } from '../protection/settings.ts';
import { activationFacts, momentOf } from '../surroundings.ts';

interface Accepted extends OperationOutcome {
  readonly operationId: string;
}

/** Asks for an isolated check of the protected point. */
export function validate(call: AreaCall): AreaAnswer {
  const { world } = call;
  const { accountId, configuration } = named(call);
  const { expectedGeneration, requestId } = validateBody(call.body);
  const payload = payloadOf(configuration, expectedGeneration);
  const receipt = once(world, { accountId, requestId, call: 'validate', payload }, () => {
    const refusal = refusedValidation(configuration, expectedGeneration);
    if (refusal !== undefined) return refusal;
    return withLatest(beginCheck(configuration, momentOf(world, configuration), false));
  });
  return ok(receiptItem(receipt, viewOf(world)));
}

/** Asks for a recovered environment to become live. */
export function activate(call: AreaCall): AreaAnswer {
  const { world } = call;
  const { accountId, configuration } = named(call);
  const body = activateBody(call.body);
  const request = activationRequest(world, configuration, body);
  const { target } = request;
  const payload = payloadOf(configuration, Object.entries({ ...request, cutoffAt: date(world, request.cutoffAt) }));
  const receipt = once(world, { accountId, requestId: body.requestId, call: 'activate', payload }, () => {
    const point = admitActivation(configuration, request, activationFacts(world, configuration, target));
    if ('refused' in point) return point;
    return withLatest(acceptActivation(configuration, point, target, momentOf(world, configuration)));
  });
  return ok(activationReceipt(world, receipt));
}

function activationRequest(world: World, configuration: ConfigurationRecord, body: ActivateBody): ActivationRequest {
  if (body.target === undefined) throw rejected(world, 'an activation needs a target');
  const target = settleNames(body.target, configuration.source);
  if (target === undefined) throw invalid('target needs envName, and appName where a new app is created');
  const { expectedGeneration, selectedOperationId, pointId, cutoffAt, writerSafetyAcknowledged } = body;
  const appName = body.target.appName?.trim() ?? '';
  const unused = target.createNewApp || appName === '' ? {} : { unusedAppName: appName };
  return { expectedGeneration, selectedOperationId, pointId, cutoffAt, target, ...unused, writerSafetyAcknowledged };
}

function activationReceipt(world: World, receipt: ReceiptRecord): unknown {
  switch (world.readings['activate.receipt']) {
    case 'full':
      return receiptItem(receipt, viewOf(world));
    case 'idOnly':
      return { operationId: receipt.operationId };
    case 'opaque':
      return {};
  }
}

/** Gives an activation up before it is live. */
export function discardActivation(call: AreaCall): AreaAnswer {
  const { world } = call;
  const { accountId, configuration } = named(call);
  const { requestId, ...request } = discardBody(call.body);
  const payload = payloadOf(configuration, request.expectedGeneration, request.operationId);
  const receipt = once(world, { accountId, requestId, call: 'discard', payload }, () => {
    const operation = admitDiscard(configuration, request, world.readings['discard.window']);
    if ('refused' in operation) return operation;
    const { operationId } = operation;
    return { ...acceptDiscard(configuration, operation, world.now), operationId };
  });
  return ok(receiptItem(receipt, viewOf(world)));
}

function named(call: AreaCall): { readonly accountId: string; readonly configuration: ConfigurationRecord } {
  const accountId = accountOfAdmin(call);
  const configurationId = required(call.body, 'configurationId', text());
  return { accountId, configuration: configurationNamed(call.world, accountId, configurationId) };
}

function payloadOf({ configurationId }: ConfigurationRecord, ...rest: readonly unknown[]): string {
  return JSON.stringify([configurationId, ...rest]);
}

/** The committed receipt of this reference; when there is none yet, what is asked for is carried out and committed. */
function once(world: World, reference: CallReference, carryOut: () => Accepted | Refused): ReceiptRecord {
  const before = committed(world, reference);
  const result = before ?? carryOut();
  if ('refused' in result) throw asRefusal(world, result);
  if ('phase' in result) return result;
  keep(world, result, reference.requestId);
  const { configurationId, generation } = result.configuration;
  const phase = operationOf(result.configuration, result.operationId)?.phase ?? 'queued';
  const receipt: ReceiptRecord = { configurationId, operationId: result.operationId, generation, phase };
  journal(world, reference, receipt);
  return receipt;
}

function withLatest(outcome: OperationOutcome): Accepted {
  return { ...outcome, operationId: outcome.configuration.operations.at(-1)?.operationId ?? '' };
}
