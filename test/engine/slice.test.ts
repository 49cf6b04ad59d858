import { describe, expect, it } from 'vitest';
import { InProcess } from '../support/in-process.ts';

describe('an account', () => {
  it('becomes Ready once the service has accepted its token', async () => {
    const world = new InProcess();
    await world.start();
    world.account();

    await world.run(5_000);

    const account = world.get('HostingAccount', 'default');
    expect(account?.status).toMatchObject({ endpoint: '127.0.0.1:8088' });
  });
});
