import { describe, expect, it } from 'vitest';
import { setting } from './setting.ts';

const [reads, configures, deploys, endangers] = [
  'svc:read',
  'svc:write:config',
  'svc:write:deploy',
  'svc:write:dangerous',
];

describe('disaster readiness', () => {
  it.each([
    { call: 'configure', scopes: [configures, deploys] },
    { call: 'validate', scopes: [deploys] },
    { call: 'activate', scopes: [deploys, endangers] },
    { call: 'discard-activation', scopes: [deploys, endangers] },
    { call: 'reset', scopes: [deploys, endangers] },
  ])('takes $call from an admin of the account with $scopes, and from nobody else', async ({ call, scopes }) => {
    const at = setting();
    const statusFor = async (token: string) => (await at.post(call, at.account, token)).status;
    const statusWith = async (given: readonly unknown[]) => {
      const token = given.join('+').replaceAll(':', '-');
      await at.control('POST', '/tokens', { token, scopes: given, memberships: [{ ...at.account, role: 'admin' }] });
      return statusFor(token);
    };

    for (const token of ['nobody', 'demo-environment']) expect(await statusFor(token), token).toBe(401);
    for (const token of ['demo-member', 'demo-foreign']) expect(await statusFor(token), token).toBe(403);
    for (const lacks of scopes) {
      const others = [reads, configures, deploys, endangers].filter((scope) => scope !== lacks);
      expect(await statusWith(others), lacks).toBe(403);
    }
    // Who may ask is told what else the body lacks.
    expect(await statusWith(scopes)).toBe(400);
  });
});
