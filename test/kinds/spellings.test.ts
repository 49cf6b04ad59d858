import { describe, expect, it } from 'vitest';
import { InProcess } from '../support/in-process.ts';
import { conditionOf } from './support/world.ts';

const mail = { email: { addresses: ['a@example.com'] } };

/** The service as it may be: it keeps names in another spelling than it was sent. */
function spelling(tell: (name: string) => string) {
  const respelt = (value: unknown, field = ''): unknown => {
    if (typeof value === 'string') return field === 'name' ? tell(value) : value;
    if (Array.isArray(value)) return value.map((item) => respelt(item, field));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, respelt(inner, key)]));
  };
  return (text: string): string => JSON.stringify(respelt(JSON.parse(text)));
}

const as: (name: string) => string = (name) => name;
const composed = (name: string): string => name.normalize('NFC');
const trimmed = (name: string): string => name.trim();

const names = [
  { name: 'famille \u{1F468}\u200D\u{1F469}\u200D\u{1F467}', tell: as, because: 'it has joiners' },
  {
    name: '\u0645\u06CC\u200C\u062E\u0648\u0627\u0647\u0645',
    tell: as,
    because: 'it has a non-joiner, as Persian has',
  },
  { name: 'co\u00ADop', tell: as, because: 'it has a soft hyphen' },
  { name: 'https://example.com/x', tell: as, because: 'it is an address' },
  { name: 'cafe\u0301', tell: composed, because: 'the service composes characters' },
  { name: 'Ame\u0301lie  x', tell: composed, because: 'the service composes characters' },
  { name: 'On call ', tell: trimmed, because: 'the service trims' },
  { name: 'hush-hush-Key', tell: as, because: 'it is the value of a Secret' },
];

async function lived(name: string, tell: (name: string) => string, lostFirst: boolean): Promise<InProcess> {
  const world = new InProcess();
  await world.start();
  world.account();
  world.secret('key', { key: 'hush-hush-Key' });
  world.apply('ContactPoint', 'other', { incident: { integrationKeyFrom: { name: 'key', key: 'key' } } });
  await world.run(20_000);
  const told = spelling(tell);
  let lost = lostFirst;
  world.interference = ({ method }) => {
    if (method === 'POST' && lost) {
      lost = false;
      return 'loseAnswer';
    }
    return { retold: told };
  };
  world.apply('ContactPoint', 'p', { ...mail, name });
  world.apply('HostedApp', 'a', { name, image: { reference: 'r/x:1' }, port: 80 });
  await world.run(600_000);
  return world;
}

describe.each(names)('the name $name', ({ name, tell, because }) => {
  it.each([false, true])(`is made once although ${because}; a lost answer: %s`, async (lostFirst) => {
    const world = await lived(name, tell, lostFirst);

    const writes = world.sent.filter(
      ({ method, body }) => method !== 'GET' && body.includes(`"name":${JSON.stringify(name)}`),
    );
    const ready = ['ContactPoint p', 'HostedApp a'].map((object) => {
      const [kind = '', own = ''] = object.split(' ');
      return conditionOf(world, kind, own);
    });
    expect(writes.map(({ method, path }) => `${method} ${path}`)).toHaveLength(2);
    expect(ready).toEqual(['True/InSync', 'True/InSync']);
  });
});
