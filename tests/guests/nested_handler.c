/* A handler on a stack above that of the fault calls a function, which is translated, as is what follows the call.
 *
 * Of these functions the test recompiles `touch` and `handler` alone. touch holds a temporary register over an access that
 * faults. The value is lost unless touch goes on where it waits. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

#define PAGE 4096
#define STACK_BYTES 65536

void handler(int number);
uint32_t touch(uint32_t *word, uint32_t number);
uint32_t on_stack(uint32_t *word, uint32_t number, char *stack_end);
void from_behind_call(uintptr_t place);
extern char behind_call[]; /* the return address in handler; from_behind_call has it translated */
uint32_t *page;

__asm__(".text\n.set noreorder\n"
        ".globl handler\n.ent handler\n.type handler,@function\nhandler:\n"
        "addiu $sp,$sp,-32\n sw $ra,28($sp)\n bal opens\n nop\n"
        ".globl behind_call\nbehind_call:\n lw $ra,28($sp)\n jr $ra\n addiu $sp,$sp,32\n.end handler\n.size handler,.-handler\n"
        ".globl touch\n.ent touch\n.type touch,@function\ntouch:\n"
        "addu $t5,$a0,$a1\n lw $v0,0($a0)\n xor $v0,$v0,$t5\n jr $ra\n xor $v0,$v0,$a0\n.end touch\n.size touch,.-touch\n"
        ".globl opens\n.ent opens\n.type opens,@function\nopens:\n"
        "lui $a0,%hi(page)\n lw $a0,%lo(page)($a0)\n li $a1,4096\n li $a2,3\n li $v0,4125\n syscall\n"
        "b 1f\n nop\n1:\n jr $ra\n nop\n.end opens\n.size opens,.-opens\n"
        ".globl from_behind_call\n.ent from_behind_call\n.type from_behind_call,@function\nfrom_behind_call:\n"
        "addiu $sp,$sp,-32\n sw $ra,28($sp)\n jr $a0\n nop\n.end from_behind_call\n"
        ".size from_behind_call,.-from_behind_call\n"
        ".globl on_stack\n.ent on_stack\n.type on_stack,@function\non_stack:\n"
        "addiu $sp,$sp,-32\n sw $ra,28($sp)\n sw $s0,24($sp)\n move $s0,$sp\n bal touch\n addiu $sp,$a2,-32\n"
        "move $sp,$s0\n lw $ra,28($sp)\n lw $s0,24($sp)\n jr $ra\n addiu $sp,$sp,32\n.end on_stack\n"
        ".size on_stack,.-on_stack\n.set reorder\n");

int main(void)
{
    char *low = mmap(NULL, 2 * STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t above = {.ss_sp = low + STACK_BYTES, .ss_size = STACK_BYTES};
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    sigaltstack(&above, NULL);
    sigaction(SIGSEGV, &action, NULL);
    page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (uint32_t round = 0; round < 10; round++) {
        from_behind_call((uintptr_t)behind_call);
        page[0] = round;
        mprotect(page, PAGE, PROT_NONE);
        uint32_t found = on_stack(page, 100 * round, low + STACK_BYTES);
        uint32_t address = (uint32_t)(uintptr_t)page, right = (address + 100 * round) ^ address ^ round;
        printf("round %u: %s\n", round, found == right ? "right" : "wrong");
    }
    return 0;
}
