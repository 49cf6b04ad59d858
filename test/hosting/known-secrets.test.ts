import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SecretsInUse } from '../../src/hosting/redaction/known-secrets.ts';
import { unsaid } from '../../src/hosting/redaction/redaction.ts';
import { Secret } from '../../src/base/secret.ts';

function knowing(...values: readonly string[]): SecretsInUse {
  const secrets = new SecretsInUse();
  for (const [index, value] of values.entries()) secrets.know(`user ${index}`, [new Secret(value)]);
  return secrets;
}

const pem = '-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEF\nAASCBKcwggSjAgEAAoIBAQC7VJTU\n-----END KEY-----\n';

describe('secrets in use', () => {
  it.each([
    { secret: 'hunter2-hunter2', text: 'key hunter2-hunter2!', safe: 'key [secret]!', because: 'as it is' },
    { secret: 'hunter2-hunter2\n', text: 'key hunter2-hunter2', safe: 'key [secret]', because: 'without its line end' },
    { secret: 'a "quoted" one', text: String.raw`is a \"quoted\" one`, safe: 'is [secret]', because: 'in JSON' },
    { secret: 'a/b+c d', text: 'is a%2Fb%2Bc%20d', safe: 'is [secret]', because: 'in a URL' },
    {
      secret: 'a/b+c d',
      text: 'is a%2fb%2bc+d or a%2fb%2bc%20d',
      safe: 'is a%2fb%2bc+d or [secret]',
      because: 'in lower case',
    },
    { secret: 'hunter2-hunter2', text: `is ${btoa('hunter2-hunter2')}`, safe: 'is [secret]', because: 'in base64' },
    {
      secret: 'hunter2-hunter',
      text: `is ${btoa('user:hunter2-hunter?')}`,
      safe: 'is dXNlcjp[secret]j8=',
      because: 'inside of base64',
    },
    { secret: pem, text: `is ${pem.replaceAll('\n', ' ')}`, safe: 'is [secret] ', because: 'as one line' },
    {
      secret: pem,
      text: `is ${pem.replaceAll('\n', '\r\n')}`,
      safe: 'is [secret]\r\n',
      because: 'with other line ends',
    },
    {
      secret: pem,
      text: `is ${JSON.stringify(pem)}`,
      safe: String.raw`is "[secret]"`,
      because: 'of several lines, in JSON',
    },
    {
      secret: pem,
      text: 'at AASCBKcwggSjAgEAAoIBAQC7VJTU!',
      safe: 'at [secret]!',
      because: 'of which one line is told',
    },
    { secret: '1234', text: 'code 1234, item 12345', safe: 'code [secret], item 12345', because: 'short, by itself' },
    { secret: 'abc', text: 'abc', safe: 'abc', because: 'too short to be one' },
    { secret: '', text: 'nothing', safe: 'nothing', because: 'empty' },
    { secret: '  \n', text: 'no  \n thing', safe: 'no  \n thing', because: 'blank' },
  ])('are not in a text that tells one $because', ({ secret, text, safe }) => {
    expect(knowing(secret).hidden(text, 'anyWord')).toBe(safe);
  });

  it('are told apart where one is part of another or overlaps it', () => {
    const secrets = knowing('planted-one', 'planted-one-and-two', 'two-and-more');

    expect(secrets.hidden('a planted-one-and-two-and-more b planted-one', 'anyWord')).toBe('a [secret] b [secret]');
  });

  it.each([
    { secret: 'production', anyWord: '[secret]', noWord: 'production', noName: 'production' },
    { secret: 'us-east-1', anyWord: '[secret]', noWord: '[secret]', noName: 'us-east-1' },
    { secret: 'https://h.example/x', anyWord: '[secret]', noWord: '[secret]', noName: '[secret]' },
    { secret: 'Xk29fLq0Zt77', anyWord: '[secret]', noWord: '[secret]', noName: '[secret]' },
  ])('leave $secret where it may be a word or a name', ({ secret, ...expected }) => {
    const secrets = knowing(secret);
    const of = (least: keyof typeof expected) => secrets.hidden(secret, least);

    expect({ anyWord: of('anyWord'), noWord: of('noWord'), noName: of('noName') }).toEqual(expected);
  });

  it('take a token for nothing else', () => {
    const secrets = new SecretsInUse();
    secrets.know('account', [new Secret('production')], true);

    expect(secrets.hidden('production', 'noName')).toBe('[secret]');
  });

  it('are known while somebody uses them, and for a while after', () => {
    const secrets = new SecretsInUse();
    const told = () => secrets.hidden('planted-one planted-two', 'anyWord');
    secrets.know('a', [new Secret('planted-one')]);
    secrets.know('b', [new Secret('planted-one')]);
    secrets.know('a', [new Secret('planted-two')]);
    secrets.forget('a');
    const left = told();
    for (let other = 0; other < 260; other += 1) {
      secrets.know(`${other}`, [new Secret(`other-${other}`)]);
      secrets.forget(`${other}`);
    }

    expect([left, told()]).toEqual(['[secret] [secret]', '[secret] planted-two']);
  });

  it('are bounded: of a value that changes every day only the last ones are known', () => {
    const secrets = new SecretsInUse();
    for (let day = 0; day < 100; day += 1) secrets.know('a', [new Secret(`planted-${day}-planted`)]);

    expect(secrets.hidden('planted-99-planted planted-91-planted planted-90-planted', 'anyWord')).toBe(
      '[secret] [secret] planted-90-planted',
    );
  });

  it('are all known from before when all change at once', () => {
    const secrets = new SecretsInUse();
    const values = (day: string) =>
      Array.from({ length: 20 }, (_, index) => new Secret(`planted-${day}-${index}-planted`));
    secrets.know('a', values('monday'));
    secrets.know('a', values('tuesday'));

    expect(secrets.hidden('planted-monday-0-planted planted-tuesday-19-planted', 'anyWord')).toBe('[secret] [secret]');
  });

  it('are found among thousands, wherever they stand', () => {
    const values = Array.from({ length: 3_000 }, (_, index) => `https://hooks.example.com/services/T${index}x`);
    const secrets = knowing(...values);
    for (const value of values.slice(0, 2_000)) secrets.forget(`user ${values.indexOf(value)}`);

    expect(secrets.hidden(`a ${values[2_999]} b ${values[2_000]}`, 'anyWord')).toBe('a [secret] b [secret]');
    expect(secrets.hidden(`a ${values[1_000]}`, 'anyWord')).toBe(`a ${values[1_000]}`);
  });

  it('stand in no text, whatever it says', () => {
    const long = fc.string({ minLength: 6, maxLength: 40, unit: 'binary' }).filter((text) => text.trim() === text);
    fc.assert(
      fc.property(long, fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (secret, before, after) => {
        fc.pre(!'[secret]'.includes(secret));

        expect(knowing(secret).hidden(`${before}${secret}${after}`, 'anyWord').split('[secret]')).not.toContain(secret);
      }),
      { numRuns: 100 },
    );
  });
});

describe('a body', () => {
  const secrets = knowing('planted', 'orders-db', 'sk-7f2A9cQe!x');
  const hide = secrets.hidden.bind(secrets);

  it('loses the secrets in what is only shown, and keeps what is compared', () => {
    const body = {
      error: 'no planted here',
      details: { installationId: 'planted', text: ['orders-db'] },
      appEnvs: [
        { appEnvId: 'orders-db', name: 'orders-db', status: 'planted', hosts: ['orders-db'], updatedAt: 'planted' },
      ],
      environments: ['orders-db'],
      nextCursor: 'orders-db',
    };

    expect(unsaid(structuredClone(body), hide)).toEqual({
      ...body,
      error: 'no [secret] here',
      details: { installationId: 'planted', text: ['[secret]'] },
      appEnvs: [{ ...body.appEnvs[0], hosts: ['[secret]'] }],
    });
  });

  it('loses in names and words what can be none', () => {
    const body = { apps: [{ name: 'my sk-7f2A9cQe!x', status: 'orders-db' }] };

    expect(unsaid(body, hide)).toEqual({ apps: [{ name: 'my [secret]', status: '[secret]' }] });
  });

  it('keeps what is read to be compared with secrets', () => {
    const body = { contactPoint: { config: { integrationKey: 'planted' }, note: 'planted' } };

    expect(unsaid(body, hide, 'config')).toEqual({
      contactPoint: { config: { integrationKey: 'planted' }, note: '[secret]' },
    });
  });
});
