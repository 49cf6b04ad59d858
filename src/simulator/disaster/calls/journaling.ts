// One requestId space per account over all calls: the same payload gets the committed receipt again, another is rejected.
import { adminOf } from '../../accounts/access.ts';
import type { AreaCall } from '../../area.ts';
import { onlyFields, required, text } from '../../http/fields.ts';
import { notFound, type RequestRefusal } from '../../http/refusal.ts';
import { rejected } from '../../public/shape.ts';
import type { World } from '../../store/store.ts';
import { type CallRecord, type ReceiptRecord, type Refused, ruledOut } from '../model.ts';
import { operationOf, type OperationOutcome } from '../operations.ts';
import { callId, journaledCalls, keep } from '../rows.ts';

/** What a call comes to when it is accepted: the operation that its receipt names. */
export interface Accepted extends OperationOutcome {
  readonly operationId: string;
}

/** The committed receipt of this reference; when there is none yet, what is asked for is carried out and committed. */
export function once(
  world: World,
  reference: Omit<CallRecord, 'receipt'>,
  carryOut: () => Accepted | Refused,
): ReceiptRecord | Refused {
  const { accountId, requestId, call, payload } = reference;
  const before = world.of(journaledCalls).get(callId(accountId, requestId));
  if (before !== undefined) {
    const isSame = before.call === call && before.payload === payload;
    return isSame ? before.receipt : ruledOut('this requestId was used for another request');
  }
  const result = carryOut();
  if ('refused' in result) return result;
  keep(world, result, requestId);
  const { operationId, configuration } = result;
  const { configurationId, generation } = configuration;
  const phase = operationOf(configuration, operationId)?.phase ?? 'queued';
  const receipt: ReceiptRecord = { configurationId, operationId, generation, phase };
  world.of(journaledCalls).put({ ...reference, receipt });
  return receipt;
}

/** Turns a refusal of the rules into the answer to a request. */
export function asRefusal(world: World, { refused, message }: Refused): RequestRefusal {
  return refused === 'unknown' ? notFound(message) : rejected(world, message);
}

/** The account whose admin is calling, for a call whose fields are all in the body. */
export function accountOfAdmin(call: AreaCall): string {
  const accountId = required(call.body, 'accountId', text());
  adminOf(call, accountId);
  onlyFields(call.query, 'query', []);
  return accountId;
}
