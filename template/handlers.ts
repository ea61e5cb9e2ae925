/** The rules that cannot be declared. What a handler writes or refuses is committed together with the request, or not at all. */
import api from './api.ts'

export default api.handlers({
  tasks: {
    async create({ next, get, refuse }) {
      const project = await get('projects', next.projectId)
      if (project && project.taskCount >= project.taskLimit) throw refuse('project-full')
    },
  },
})
