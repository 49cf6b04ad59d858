// One requestId space per account over all calls: the same payload gets the committed receipt again, another is rejected.
import { adminOf } from '../../accounts/access.ts';
import type { AreaCall } from '../../area.ts';
import { onlyFields, required, text } from '../../http/fields.ts';
import { notFound, type RequestRefusal } from '../../http/refusal.ts';
import { date, rejected } from '../../public/shape.ts';
import type { World } from '../../store/store.ts';
import type { ItemView } from '../lists/items.ts';
import type { ConfigurationRecord, CallRecord, ReceiptRecord, Refused } from '../model.ts';
import { ruledOut } from '../model.ts';
import { callId, configurationOf, journaledCalls } from '../rows.ts';

/** A call with the reference it is journaled under. */
export type CallReference = Omit<CallRecord, 'receipt'>;

/** The receipt stored under this requestId; refused if the payload differs. */
export function committed(world: World, reference: CallReference): ReceiptRecord | Refused | undefined {
  const entry = world.of(journaledCalls).get(callId(reference.accountId, reference.requestId));
  if (entry === undefined) return undefined;
  return entry.call === reference.call && entry.payload === reference.payload
    ? entry.receipt
    : ruledOut('this requestId was used for another request');
}

/** Stores the receipt of a call under its requestId. */
export function journal(world: World, reference: CallReference, receipt: ReceiptRecord): void {
  world.of(journaledCalls).put({ ...reference, receipt });
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

/** The configuration that a request of this account names. */
export function configurationNamed(world: World, accountId: string, configurationId: string): ConfigurationRecord {
  const configuration = configurationOf(world, configurationId);
  if (configuration?.accountId !== accountId) throw notFound('configuration not found');
  return configuration;
}

/** The present readings that shape items and receipts. */
export function viewOf(world: World): ItemView {
  return {
    now: world.now,
    date: (at) => date(world, at),
    opaquePhases: world.readings['dr.phases'] === 'opaque',
    readyWord: world.readings['dr.readinessWord'],
  };
}
