import { expect } from 'vitest';
import { isRecord, sameJson } from '../../../../src/base/json.ts';
import { configMapResource } from '../../../../src/kube/material.ts';
import { namespace, type InProcess } from '../../../support/in-process.ts';
import { aWorld, conditionOf, messageOf, statusOf } from '../world.ts';
import type { Edit, Edits, Outcome, Spec } from './table.ts';

/** A row, and the object that it is tried on. */
export interface Row extends Edit {
  readonly name: string;
}

const secrets = {
  a: 'secret a',
  b: 'secret b',
  hookA: 'https://chat.example.com/a',
  hookB: 'https://chat.example.com/b',
  imageA: 'svc/sandbox-agent:1',
  imageB: 'svc/sandbox-agent:2',
};

const files = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'files', namespace } };
const fileValues = { ...secrets, a: 'file a', b: 'file b' };

/** The Secret and the ConfigMap of the specs, as documents. */
export const materials: readonly string[] = [
  { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'values', namespace }, stringData: secrets },
  { ...files, data: fileValues },
].map((one) => JSON.stringify(one));

/** What nobody can know before it is sent. */
const madeUp: readonly (readonly [RegExp, string])[] = [
  [/apphosting:[a-z2-7]{16}/g, '{mark}'],
  [/"requestId":"[^"]*"/g, '"requestId":"{requestId}"'],
  [/"expectedGeneration":\d+/g, '"expectedGeneration":"{generation}"'],
];

function parsed(body: string): unknown {
  return JSON.parse(madeUp.reduce((text, [form, word]) => text.replaceAll(form, word), body));
}

/** Whether a value has everything of another: objects may have more. */
function covers(has: unknown, wanted: unknown): boolean {
  if (!isRecord(wanted) || !isRecord(has)) return sameJson(has, wanted);
  return Object.entries(wanted).every(([field, value]) => covers(has[field], value));
}

/** One world in which every row of a kind has an object of its own: a call that belongs to no change would show. */
export class Bench {
  readonly world: InProcess;
  readonly #edits: Edits;
  readonly #words = new Map<string, Readonly<Record<string, string>>>();
  #sent: { readonly call: string; readonly body: unknown }[] = [];

  private constructor(world: InProcess, edits: Edits) {
    this.world = world;
    this.#edits = edits;
    world.interference = ({ method, path, body }) => {
      const isRead = method === 'GET' || path.endsWith('/alert/refresh');
      const call = `${method} ${path.replace('/api/public/v1', '')}`;
      if (!isRead) this.#sent.push({ call, body: parsed(body ?? 'null') });
      return undefined;
    };
  }

  /** A world in which the objects of all rows are as before their change. */
  static async open(edits: Edits, rows: readonly Row[]): Promise<Bench> {
    const world = await aWorld();
    world.secret('values', secrets);
    world.cluster.create(configMapResource, namespace, { ...files, data: fileValues });
    for (const credentialId of ['cred_a', 'cred_b']) {
      await world.control('POST', '/credentials', { credentialId, accountId: 'acc_demo', kind: 'registry' });
    }
    const bench = new Bench(world, edits);
    for (const { name, before } of rows) {
      bench.#words.set(name, (await edits.prepare?.(world, name)) ?? {});
      bench.apply(name, before);
    }
    await world.run(300_000);
    return bench;
  }

  apply(name: string, spec: Spec): void {
    this.world.apply(this.#edits.kind, name, this.specOf(name, spec));
  }

  /** A spec of a row with what all rows have, and with the words in braces filled in. */
  specOf(name: string, spec: Spec): object {
    return JSON.parse(this.#filled(name, { ...this.#edits.base, ...spec })) as object;
  }

  /** Lets the operator do what it does, and compares that with what must come of it. */
  async comes(name: string, outcome: Exclude<Outcome, { is: 'refused' }>): Promise<void> {
    this.#sent = [];
    await this.world.run(60_000);

    const wanted = outcome.is === 'sent' ? [{ call: outcome.call, body: this.#bodyOf(name, outcome.body) }] : [];
    const ready = conditionOf(this.world, this.#edits.kind, name);
    expect([ready, this.#sent], this.#hint(name, outcome)).toEqual([outcome.ready, wanted]);
  }

  /** What Ready says, and where to look when a field is not there. */
  #hint(name: string, { is }: Outcome): string {
    const message = messageOf(this.world, this.#edits.kind, name);
    const shown = '`observed` of the plan, the item in src/hosting/api, and the simulator, which stores and shows it';
    const places =
      is !== 'sent'
        ? shown
        : this.#sent.length === 0
          ? '`desired` and `requests.update` of the plan, and at the body in src/hosting/api'
          : `\`requests.update\` of the plan, ${shown}`;
    return `Ready says: ${message}. If a new field is missing, look at ${places}`;
  }

  /** Makes an object with this spec: which fields of the body are missing in its creation and in the calls of `alsoPart`, and the other calls. */
  async creation(name: string, spec: Spec, { body, alsoPart }: { body: object; alsoPart: readonly string[] }) {
    this.#words.set(name, (await this.#edits.prepare?.(this.world, name)) ?? {});
    this.#sent = [];
    this.apply(name, spec);
    await this.world.run(110_000);

    const [first, ...further] = this.#sent;
    const parts = further.filter(({ call }) => alsoPart.includes(call));
    const sent: Readonly<Record<string, unknown>> = Object.assign({}, first?.body, ...parts.map((one) => one.body));
    const wanted = Object.entries(this.#bodyOf(name, body) as object).filter(([field]) => !field.endsWith('Id'));
    const missing = wanted.filter(([field, value]) => !covers(sent[field], value)).map(([field]) => field);
    return { missing, further: further.map(({ call }) => call).filter((call) => !alsoPart.includes(call)) };
  }

  /** Takes over the object of a row, by its id, with another spec and without any memory of it; the calls that this leads to. */
  async takenOver(name: string, before: Spec, spec: Spec): Promise<readonly unknown[]> {
    const externalId = this.status(name)['externalId'];
    this.apply(name, { ...before, lifecycle: { onDelete: 'Retain' } });
    await this.world.run(20_000);
    this.world.delete(this.#edits.kind, name);
    await this.world.run(20_000);
    this.#sent = [];
    this.apply(name, { ...spec, externalId });
    await this.world.run(200_000);
    return this.#sent;
  }

  /** Makes the change of a row in the service, as somebody else would. */
  async changeByHand(name: string, { call, body }: { call: string; body: object }): Promise<void> {
    const [method = '', path = ''] = call.split(' ');
    const { status } = await this.world.request(method, path, this.#bodyOf(name, body));
    expect(status).toBe(200);
  }

  /** What the service shows of the object of a row. */
  async shown(name: string, read: string): Promise<unknown> {
    return (await this.world.request('GET', `${read}${String(this.status(name)['externalId'])}`)).body;
  }

  status(name: string): Readonly<Record<string, unknown>> {
    return statusOf(this.world, this.#edits.kind, name);
  }

  #bodyOf(name: string, body: object): unknown {
    return JSON.parse(this.#filled(name, body));
  }

  #filled(name: string, value: object): string {
    const id = this.world.get(this.#edits.kind, name) === undefined ? '' : String(this.status(name)['externalId']);
    const words = Object.entries({ row: name, id, ...this.#words.get(name) });
    return words.reduce((so, [word, with_]) => so.replaceAll(`{${word}}`, with_), JSON.stringify(value));
  }
}
