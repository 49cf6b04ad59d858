import { afterAll, beforeAll } from 'vitest';
import { type Api, connect, sharedKubernetes } from '../kubernetes.ts';
import { aPost, startOperator, type OperatorProcess, type Post } from '../operator-process.ts';
import type { SharedKubernetes } from '../shared-control-plane.ts';
import { Team } from './team.ts';

/** What all tests of a file play on. */
export interface Stage {
  readonly plane: SharedKubernetes;
  readonly api: Api;
  /** Where the operator's own objects are. */
  readonly post: () => Post;
  /** A team of this test's own; it leaves when the file is over. */
  readonly aTeam: () => Promise<Team>;
}

/** One operator for the whole cluster, for all tests of a file. */
export function aStage(): Stage {
  const plane = sharedKubernetes();
  const api = connect(plane);
  const teams: Team[] = [];
  let own: Post;
  let operator: OperatorProcess;
  beforeAll(async () => {
    own = await aPost(plane, api, 'cluster-wide');
    operator = await startOperator(own);
  });
  afterAll(async () => {
    await Promise.all(teams.map((team) => team.leave()));
    await operator.end();
    await api.close();
  });
  return {
    plane,
    api,
    post: () => own,
    aTeam: async () => {
      const team = await Team.arrive(api);
      teams.push(team);
      return team;
    },
  };
}
